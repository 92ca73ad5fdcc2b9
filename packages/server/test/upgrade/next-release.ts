/** A program that runs the service as its next release would, with one more migration: the file WAXWING_TEST_MIGRATION. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { readProcessConfig } from '../../src/cli/connect.ts'
import { parseMigration, readMigrations } from '../../src/database/migration-file.ts'
import { openLog } from '../../src/kit/log.ts'
import { runService } from '../run-service.ts'

const { WAXWING_TEST_MIGRATION: file = '', ...rest } = process.env
process.env = rest
const config = readProcessConfig()
const log = openLog({ level: 'debug', format: 'json' })
const migrations = [
  ...(await readMigrations()),
  parseMigration(path.basename(file), await readFile(file, 'utf8')),
]
const service = await runService({
  log,
  migrations,
  onLost: error => {
    log.error({ error }, 'The database was lost; ending')
    process.exit(1)
  },
})
process.once('SIGTERM', () => {
  void service
    .stop({
      noticeSeconds: config.noticeSeconds,
      drain: { requestSeconds: 30, downloadSeconds: 120, handedOverSeconds: 120 },
    })
    .then(() => process.exit(0))
})
