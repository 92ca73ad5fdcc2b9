import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { openapiDocument } from './openapi-document.ts'

const FILE = fileURLToPath(new URL('../packages/contract/openapi.json', import.meta.url))

const text = `${JSON.stringify(openapiDocument(), null, 2)}\n`
if (process.argv.includes('--check')) {
  const committed = await readFile(FILE, 'utf8').catch(() => '')
  if (committed !== text) {
    console.error('packages/contract/openapi.json does not fit the contract. Run: npm run openapi')
    process.exitCode = 1
  }
} else {
  await writeFile(FILE, text)
}
