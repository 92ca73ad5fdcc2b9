/**
 * Fills `dist/` of the package in the working directory, before it is packed (its `prepack`). Node.js does not run
 * TypeScript below node_modules, so a package holds JavaScript: the source with its types blanked out, as Node.js itself
 * runs it in a clone. Every character stays where it is, so stack traces are right without source maps.
 */
import { copyFile, glob, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import path from 'node:path'
import { init, parse } from 'es-module-lexer'
import { writeSite } from './docs/write-site.ts'

const ROOT = path.resolve(import.meta.dirname, '..')
/** Tests, files that only tools read, and a module that has nothing but types. */
const LEFT_OUT = /\.test\.ts$|\/conformance\/|tsconfig\.json$|schema\.sql$|^types\.ts$/
/** Modules of ours, which are renamed. Modules of other packages keep their names. */
const OURS = /^(?:\.{1,2}|@waxwing\/(?:contract|sdk))\/.*\.ts$/

async function buildPackage(folder: string) {
  await init
  const source = path.join(folder, 'src')
  const target = path.join(folder, 'dist')
  await rm(target, { recursive: true, force: true })
  for await (const file of glob('**/*.*', { cwd: source })) {
    if (LEFT_OUT.test(file)) continue
    const from = path.join(source, file)
    const to = path.join(target, file)
    await mkdir(path.dirname(to), { recursive: true })
    if (file.endsWith('.ts'))
      await writeFile(to.replace(/\.ts$/, '.js'), toJavaScript(await readFile(from, 'utf8')))
    else await copyFile(from, to)
  }
  await copyFile(path.join(ROOT, 'LICENSE'), path.join(folder, 'LICENSE'))
  if (folder === path.join(ROOT, 'packages/server')) await writeSite(path.join(target, 'docs'))
}

function toJavaScript(source: string): string {
  const code = stripTypeScriptTypes(source)
  const [imports] = parse(code)
  let written = ''
  let at = 0
  for (const { n: specifier, e: end, d: dynamicAt } of imports) {
    if (specifier === undefined || !OURS.test(specifier)) continue
    // The range of a dynamic import includes its quotes.
    const suffixAt = end - (dynamicAt > -1 ? 1 : 0) - '.ts'.length
    written += `${code.slice(at, suffixAt)}.js`
    at = suffixAt + '.ts'.length
  }
  return written + code.slice(at)
}

await buildPackage(process.cwd())
