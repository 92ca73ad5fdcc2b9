/** A program that runs the service as its next release would, with one more migration: the file WAXWING_TEST_MIGRATION. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { readProcessConfig } from '../../src/cli/connect.ts'
import { welcomeFirst } from '../../src/cli/first-start.ts'
import { parseMigration, readMigrations } from '../../src/database/migration-file.ts'
import { openLog } from '../../src/kit/log.ts'
import { startService } from '../../src/main.ts'

const { WAXWING_TEST_MIGRATION: file = '', ...rest } = process.env
process.env = rest
const config = readProcessConfig()
const log = openLog({ level: 'debug', format: 'json' })
const migrations = [
  ...(await readMigrations()),
  parseMigration(path.basename(file), await readFile(file, 'utf8')),
]
const service = await startService(config, {
  log,
  migrations,
  onRunning: (installation, baseUrl) => welcomeFirst(installation, baseUrl, { folder: config.dataDir, log }),
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
