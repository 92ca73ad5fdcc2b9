import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import type { SiteFile } from './site.ts'

const FOLDER = new URL('browser/', import.meta.url)
const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}
/** The only script with a dependency, which is put into it. */
const BUNDLED = 'minisearch.js'

/** The scripts, styles and images that the pages load, by name. */
export async function browserFiles(): Promise<Map<string, SiteFile>> {
  const files = new Map<string, SiteFile>()
  for (const name of readdirSync(FOLDER)) {
    const type = TYPES[name.split('.').at(-1) ?? '']
    if (type === undefined) continue
    const content = name === BUNDLED ? await bundle(name) : readFileSync(new URL(name, FOLDER), 'utf8')
    files.set(name, { type, content })
  }
  return files
}

async function bundle(name: string): Promise<string> {
  await using made = await rolldown({
    input: fileURLToPath(new URL(name, FOLDER)),
    platform: 'browser',
    tsconfig: false,
  })
  const { output } = await made.generate({ format: 'esm', minify: true })
  return output[0].code
}
