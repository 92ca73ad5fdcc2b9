/** A program that runs the service as its next release would, with the migrations of a folder, WAXWING_TEST_MIGRATIONS, too. */
import { pathToFileURL } from 'node:url'
import { readProcessConfig } from '../../src/cli/connect.ts'
import { readMigrations } from '../../src/database/migration-file.ts'
import { openLog } from '../../src/kit/log.ts'
import { runService } from '../run-service.ts'

const { WAXWING_TEST_MIGRATIONS: folder = '', ...rest } = process.env
process.env = rest
const config = readProcessConfig()
const log = openLog({ level: 'debug', format: 'json' })
const migrations = [...(await readMigrations()), ...(await readMigrations(pathToFileURL(`${folder}/`)))]
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
