/** `npm run sdk` makes the types and methods of packages/sdk from the OpenAPI document; `--check` only compares them. */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { sdkSource, type Document } from './sdk-source.ts'

const ROOT = path.resolve(import.meta.dirname, '..')
const SOURCE = path.join(ROOT, 'packages/sdk/src')

const document: Document = JSON.parse(
  await readFile(path.join(ROOT, 'packages/contract/openapi.json'), 'utf8'),
)
const made = sdkSource(document)
for (const [name, text] of Object.entries(made)) {
  const file = path.join(SOURCE, `${name}.ts`)
  if (!process.argv.includes('--check')) await writeFile(file, text)
  else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
    console.error(`packages/sdk/src/${name}.ts does not fit the OpenAPI document. Run: npm run sdk`)
    process.exitCode = 1
  }
}
