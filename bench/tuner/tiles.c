/* Misses of a blocked matrix product in a small set-associative cache with the oldest line leaving first. */

#include <string.h>

enum { LINE = 64, MOST_SETS = 4096, MOST_WAYS = 8 };

static long tags[MOST_SETS][MOST_WAYS];
static long missed;
static int sets, ways;

static void touch(long address) {
    long line = address / LINE;
    long *set = tags[line % sets];
    int at = 0;
    while (at < ways && set[at] != line + 1) at++;
    if (at == ways) {
        missed++;
        at = ways - 1;
    }
    memmove(set + 1, set, at * sizeof *set);
    set[0] = line + 1;
}

static int least(int a, int b) { return a < b ? a : b; }

/* C += A B, all of doubles; `packed` copies each block of B to one place first. */
long misses(int n, int m, int p, int tile_i, int tile_j, int tile_k, int order, int padding, int packed, int bytes, int of_ways) {
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    long width_a = p + padding, width_b = m + padding, width_c = m + padding;
    long a = 0, b = a + 8 * n * width_a, c = b + 8 * p * width_b, pack = c + 8 * n * width_c;
    int most[3] = {n, m, p}, tile[3] = {tile_i, tile_j, tile_k};
    const int *way = orders[order];
    ways = of_ways;
    sets = bytes / LINE / ways;
    missed = 0;
    memset(tags, 0, sizeof tags);
    int low[3], x[3];
    for (low[way[0]] = 0; low[way[0]] < most[way[0]]; low[way[0]] += tile[way[0]])
        for (low[way[1]] = 0; low[way[1]] < most[way[1]]; low[way[1]] += tile[way[1]])
            for (low[way[2]] = 0; low[way[2]] < most[way[2]]; low[way[2]] += tile[way[2]]) {
                int end[3];
                for (int d = 0; d < 3; d++) end[d] = least(low[d] + tile[d], most[d]);
                if (packed)
                    for (int k = low[2]; k < end[2]; k++)
                        for (int j = low[1]; j < end[1]; j++) {
                            touch(b + 8 * (k * width_b + j));
                            touch(pack + 8 * ((k - low[2]) * (long)tile_j + j - low[1]));
                        }
                for (x[way[0]] = low[way[0]]; x[way[0]] < end[way[0]]; x[way[0]]++)
                    for (x[way[1]] = low[way[1]]; x[way[1]] < end[way[1]]; x[way[1]]++)
                        for (x[way[2]] = low[way[2]]; x[way[2]] < end[way[2]]; x[way[2]]++) {
                            touch(a + 8 * (x[0] * width_a + x[2]));
                            if (packed)
                                touch(pack + 8 * ((x[2] - low[2]) * (long)tile_j + x[1] - low[1]));
                            else
                                touch(b + 8 * (x[2] * width_b + x[1]));
                            touch(c + 8 * (x[0] * width_c + x[1]));
                        }
            }
    return missed;
}
