// Opens pages in Chromium as people do, on a desk and on a phone, in light and in dark: nothing may run, be fetched, stick
// out, or be hard to read. Screenshots are left beside the pages, to be looked at.
//   node look.mjs FOLDER PAGE…

import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...pages] = process.argv.slice(2);
const require = createRequire(path.join(process.env.BROWSER_MODULES, "node_modules/"));
const { chromium } = require("playwright-core");
const axe = require.resolve("axe-core/axe.min.js");
const views = [
  { name: "desk", width: 1280, height: 900 },
  { name: "phone", width: 390, height: 844 },
];
const wrong = [];

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const page of pages) {
  const file = path.join(folder, page);
  for (const { name, width, height } of views) {
    for (const colorScheme of ["light", "dark"]) {
      const where = `${page} ${name} ${colorScheme}`;
      await look(file, where, { viewport: { width, height }, colorScheme, deviceScaleFactor: 1 });
    }
  }
  if (!page.endsWith(".html")) continue;
  const context = await browser.newContext();
  const printed = await context.newPage();
  await printed.goto(pathToFileURL(file).href);
  await printed.emulateMedia({ media: "print" });
  await printed.pdf({ path: file.replace(/\.\w+$/, ".pdf"), format: "A4" });
  await context.close();
}
await browser.close();
wrong.forEach((line) => console.error(line));
console.log(`${pages.length} pages looked at in ${views.length * 2} ways, ${wrong.length} findings`);
process.exit(wrong.length ? 1 : 0);

async function look(file, where, options) {
  // What the page itself runs or fetches; axe needs scripts, and brings its own past the policy of the page.
  const context = await browser.newContext({ ...options, bypassCSP: true });
  const page = await context.newPage();
  const finding = (text) => wrong.push(`${where}: ${text}`);
  await page.exposeFunction("boom", () => finding("a script of the page ran"));
  page.on("dialog", (dialog) => { finding(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("pageerror", (error) => finding(`an error: ${error.message}`));
  page.on("console", (message) => { if (message.type() === "error") finding(`the console: ${message.text()}`); });
  page.on("request", (request) => { if (request.url() !== pathToFileURL(file).href) finding(`it fetches ${request.url()}`); });
  page.on("framenavigated", (frame) => { if (frame.url() !== pathToFileURL(file).href) finding(`it goes to ${frame.url()}`); });
  await page.goto(pathToFileURL(file).href);
  await page.evaluate(() => {
    document.querySelectorAll("details").forEach((one) => { one.open = true; });
    // Whatever listens, hears.
    document.querySelectorAll("*").forEach((one) => {
      ["mouseover", "focus", "click", "error", "load"].forEach((kind) => one.dispatchEvent(new Event(kind)));
    });
  });
  const found = await page.evaluate(() => {
    const names = ["script", "iframe", "img", "object", "embed", "form", "link", "base", "a"];
    const events = [...document.querySelectorAll("*")].filter((one) => [...one.attributes].some((it) => /^on/i.test(it.name)));
    const wide = [...document.querySelectorAll("body *")].filter((one) => {
      const box = one.getBoundingClientRect();
      return document.body && box.right > window.innerWidth + 1 && !one.closest("pre") && getComputedStyle(one).position !== "absolute";
    });
    const small = [...document.querySelectorAll("body *")].filter((one) => {
      const shown = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
      const scale = one.closest("svg") ? one.closest("svg").getBoundingClientRect().width / one.closest("svg").viewBox.baseVal.width : 1;
      return shown && one.checkVisibility() && parseFloat(getComputedStyle(one).fontSize) * scale < 11;
    });
    return {
      forbidden: names.filter((name) => document.querySelector(name)),
      events: events.length,
      sticksOut: document.documentElement.scrollWidth - window.innerWidth,
      wide: wide.map((one) => one.outerHTML.slice(0, 120)),
      small: small.map((one) => one.outerHTML.slice(0, 120)),
      styles: document.querySelectorAll("style").length,
    };
  });
  found.forbidden.forEach((name) => finding(`it has a <${name}>`));
  if (found.events) finding(`${found.events} elements listen to events`);
  if (found.styles > 1) finding("it has a foreign style sheet");
  // A picture alone has the size that it has.
  if (file.endsWith(".html") && found.sticksOut > 0) finding(`it is ${found.sticksOut} px wider than the window`);
  found.wide.slice(0, 3).forEach((one) => finding(`sticks out: ${one}`));
  found.small.slice(0, 3).forEach((one) => finding(`too small to read: ${one}`));
  // A picture alone is no page for axe.
  const isPage = file.endsWith(".html");
  if (isPage) await page.addScriptTag({ path: axe });
  const { violations } = isPage ? await page.evaluate(() => window.axe.run()) : { violations: [] };
  for (const { id, impact, help, nodes } of violations) {
    if (impact === "serious" || impact === "critical") finding(`axe ${id} (${impact}): ${help}: ${nodes[0].html.slice(0, 160)}`);
  }
  await page.evaluate(() => document.querySelectorAll("details").forEach((one, at) => { one.open = at === 0; }));
  // Chromium takes none of a picture alone; the page has the same one.
  if (isPage) await page.screenshot({ path: path.join(folder, `${where.replaceAll(" ", "-")}.png`), fullPage: true });
  await context.close();
}
