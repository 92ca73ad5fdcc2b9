// The step of `npm test` that has PostgreSQL 16 plan the statements that no test sent to it. Arguments: the folder in which the
// tests recorded their statements, and the file that lists those of them that ran on PostgreSQL 18 only.
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { migrate } from '../../src/database/migrate.ts'
import { startPostgresServer } from '../postgres-server.ts'
import { findMissing, findRefused, readStatements } from './judge.ts'

const [folder = '', list = ''] = process.argv.slice(2)
const [onNewest, onOldest] = [readStatements(folder, '18'), readStatements(folder, '16')]
if (onNewest.length === 0 || onOldest.length === 0) throw new Error('No statements were recorded.')
const missing = findMissing(onNewest, onOldest)
mkdirSync(path.dirname(list), { recursive: true })
writeFileSync(
  list,
  missing.map(({ origin, ranBy, text }) => `${origin}, ran by ${ranBy}\n    ${text}\n`).join(''),
)

await using server = await startPostgresServer('16')
const address = server.address('postgres')
await migrate(address)
const refused = await findRefused(address, missing)
for (const { origin, ranBy, raw, message } of refused)
  process.stdout.write(
    `${origin}: PostgreSQL 16 refuses a statement that ${ranBy} runs on 18: ${message}\n${raw}\n\n`,
  )
process.stdout.write(
  `${onNewest.length} statements ran on PostgreSQL 18. ${missing.length} of them did not run on 16 (listed in ` +
    `${path.relative('.', list)}); 16 plans ${missing.length - refused.length} of these.\n`,
)
if (refused.length > 0) process.exitCode = 1
