/** A program that claims a job on the database in its arguments, reports it, and never ends the job. */
import type { DatabaseAddress } from '../src/database/pool.ts'
import { openDatabase } from '../src/database/pool.ts'
import { Instance } from '../src/processes/instance.ts'
import { JobWorker } from '../src/jobs/job-worker.ts'
import { Pulse } from '../src/processes/pulse.ts'
import { silentLog } from '../src/kit/log.ts'
import { PATIENT_LEASE } from './patient-lease.ts'

const [address = '', kind = ''] = process.argv.slice(2)
const database = openDatabase({
  address: JSON.parse(address) as DatabaseAddress,
  applicationName: 'waxwing test',
})
const instance = await Instance.start({
  address: database.address,
  log: silentLog,
  facts: { roles: ['jobs'], host: 'test', version: '0.0.0' },
  isAlone: false,
  pace: PATIENT_LEASE,
})
const run = async () => {
  process.stdout.write('claimed\n')
  await new Promise(() => {})
}
const pulse = new Pulse(database.db, silentLog)
export const worker = new JobWorker({
  db: database.db,
  instance,
  pulse,
  handlers: [{ kind, run }],
  log: silentLog,
})
