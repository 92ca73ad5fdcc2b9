import { glob, readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'

const SOURCES = path.resolve(import.meta.dirname, '../src')

/** A value that is called a secret is compared, character by character, with something else than a literal. */
const COMPARED =
  /\b\w*(?:token|secret|signature|digest|password|mac|pepper|assertion|clientState|privateKey)\b(?:\.reveal\(\))? *[!=]==?(?!=)(?!\s*(?:null|undefined|true|false|['"`\d]))/i
/** Cursors of a provider's lists, and digests of the contents of drafts, which nobody gives as a proof. */
const NO_SECRETS = /pageToken|syncToken|draft_digest/i

test('no secret is compared in a time that depends on how much of it was right', async () => {
  const found: string[] = []
  for await (const file of glob('**/*.ts', { cwd: SOURCES })) {
    if (file.endsWith('.test.ts')) continue
    const lines = (await readFile(path.join(SOURCES, file), 'utf8')).split('\n')
    const compared = lines.filter(line => COMPARED.test(line) && !NO_SECRETS.test(line))
    found.push(...compared.map(line => `${file}: ${line.trim()}`))
  }
  // They are compared by `timingSafeEqual`, or looked up by their digests.
  expect(found).toEqual([])
})
