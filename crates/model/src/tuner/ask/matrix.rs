//! The little linear algebra that the model of a search needs: symmetric, dense, small.

/// The lower triangle of a positive definite matrix, row by row, as its Cholesky factor.
pub(super) struct Factor {
    n: usize,
    rows: Vec<f64>,
}

impl Factor {
    /// Factors a symmetric matrix, of which the lower triangle is read; `None` where it is not positive definite.
    pub(super) fn of(n: usize, mut rows: Vec<f64>) -> Option<Factor> {
        for i in 0..n {
            let (before, from_i) = rows.split_at_mut(i * n);
            for j in 0..i {
                let row = &before[j * n..j * n + j + 1];
                let sum = from_i[j] - dot(&from_i[..j], &row[..j]);
                from_i[j] = sum / row[j];
            }
            let rest = from_i[i] - dot(&from_i[..i], &from_i[..i]);
            if rest.is_nan() || rest <= 0.0 {
                return None;
            }
            from_i[i] = rest.sqrt();
        }
        Some(Factor { n, rows })
    }

    /// Solves `L x = b`, in place.
    pub(super) fn forward(&self, b: &mut [f64]) {
        for i in 0..self.n {
            let row = &self.rows[i * self.n..i * self.n + i + 1];
            b[i] = (b[i] - dot(&row[..i], &b[..i])) / row[i];
        }
    }

    /// Solves `Lᵀ x = b`, in place.
    pub(super) fn backward(&self, b: &mut [f64]) {
        for i in (0..self.n).rev() {
            let row = &self.rows[i * self.n..i * self.n + i + 1];
            b[i] /= row[i];
            let value = b[i];
            for (rest, factor) in b[..i].iter_mut().zip(row) {
                *rest -= factor * value;
            }
        }
    }

    /// Twice the logarithm of the factor's determinant: the logarithm of the matrix's.
    pub(super) fn log_determinant(&self) -> f64 {
        (0..self.n).map(|i| self.rows[i * self.n + i].ln()).sum::<f64>() * 2.0
    }

    /// The inverse of the matrix, row by row; its lower triangle alone is filled.
    pub(super) fn inverse(&self) -> Vec<f64> {
        let n = self.n;
        // The inverse of the factor, stored by columns, so that products below run along memory.
        let mut columns = vec![0.0; n * n];
        for j in 0..n {
            let column = &mut columns[j * n..(j + 1) * n];
            column[j] = 1.0 / self.rows[j * n + j];
            for i in j + 1..n {
                let row = &self.rows[i * n..i * n + i + 1];
                column[i] = -dot(&row[j..i], &column[j..i]) / row[i];
            }
        }
        let mut inverse = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                inverse[i * n + j] = dot(&columns[i * n + i..(i + 1) * n], &columns[j * n + i..(j + 1) * n]);
            }
        }
        inverse
    }
}

/// Eight sums side by side: a single one would wait for each addition.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a_eights, a_rest) = a.as_chunks::<8>();
    let (b_eights, b_rest) = b.as_chunks::<8>();
    for (a, b) in a_eights.iter().zip(b_eights) {
        for k in 0..8 {
            sums[k] += a[k] * b[k];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    (sums[0] + sums[4]) + (sums[1] + sums[5]) + (sums[2] + sums[6]) + (sums[3] + sums[7]) + rest
}
