/** A process that lets shared mailboxes follow refused grants, and dies as if by kill -9 after the first page. */
import { spreadGrants } from '../../src/accounts/grants/spread.ts'
import { openDatabase } from '../../src/database/pool.ts'

const { address } = JSON.parse(process.argv[2] ?? '') as {
  address: Parameters<typeof openDatabase>[0]['address']
}
const { db } = openDatabase({ address, applicationName: 'waxwing test' })

process.stdout.write('ready\n')
process.stdin.once(
  'data',
  () => void spreadGrants(db, () => process.kill(process.pid, 'SIGKILL'), new AbortController().signal),
)
