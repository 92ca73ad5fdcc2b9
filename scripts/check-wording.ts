/**
 * Finds sentences that break the rule "Name the noun" of STYLE.md. The list of known ones only shrinks: a file with
 * more than it has there fails, and so does a file with fewer until `--write` has rewritten the list.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { compareWithList, findWording, type Known, shortenList } from './wording.ts'

const ROOT = path.resolve(import.meta.dirname, '..')
const LIST = path.join(ROOT, 'scripts/known-wording.json')
const FILES = [
  'packages/*/{src,test,bin}/**/*.{ts,js}',
  '{scripts,bench}/**/*.{ts,js}',
  'docs/**/*.md',
  '*.md',
]
/** The rule's own examples, entries about earlier releases, and texts that are made from the contract. */
const EXCLUDED: ReadonlySet<string> = new Set([
  'STYLE.md',
  'CHANGELOG.md',
  'scripts/wording.ts',
  'packages/sdk/src/types.ts',
  'packages/server/test/gate/wording.test.ts',
])

const files = globSync(FILES, { cwd: ROOT }).filter(file => !EXCLUDED.has(file))
const found = new Map(
  files.map(file => [file, findWording(file, readFileSync(path.join(ROOT, file), 'utf8'))]),
)
const known = JSON.parse(readFileSync(LIST, 'utf8')) as Known
if (process.argv.includes('--write')) {
  const list = shortenList(found, known)
  if (list) writeFileSync(LIST, `${JSON.stringify(list, null, 2)}\n`)
  else
    fail(['There are more than the list has in all, and it only shrinks.', ...compareWithList(found, known)])
} else {
  const problems = compareWithList(found, known)
  if (problems.length > 0)
    fail([
      ...problems,
      'See "Name the noun" in STYLE.md. `node scripts/check-wording.ts --write` shortens the list.',
    ])
}

function fail(lines: readonly string[]): void {
  for (const line of lines) console.error(line)
  process.exitCode = 1
}
