/** Follows mail and calendars of accounts in memory, with the engine and the database of the service, until it is killed. */
import { type DatabaseAddress, openDatabase } from '../../src/database/pool.ts'
import type { HalfKind } from '../../src/accounts/halves/kind.ts'
import { openMailFollower } from '../../src/features/mail/following/follower.ts'
import { silentLog } from '../../src/kit/log.ts'
import { Instance } from '../../src/processes/instance.ts'
import { Pulse } from '../../src/processes/pulse.ts'
import { SyncEngine } from '../../src/sync/engine.ts'
import { memoryFollower, ProvidedHalves, type Trouble } from '../provided-halves.ts'

export interface TwoHalvesOptions {
  address: DatabaseAddress
  stallSeconds: number
}

/** Asks for the counts of a half, and sets the trouble of its provider if one is given. */
export interface Asked {
  ask: number
  accountId: string
  kind: HalfKind
  trouble?: Trouble
}

export interface Answered {
  ask: number
  opened: number
  open: number
  reads: number
}

const { address, stallSeconds } = JSON.parse(process.argv[2] ?? '') as TwoHalvesOptions
const { db } = openDatabase({ address, applicationName: 'two halves' })
const provided = new ProvidedHalves()
const instance = await Instance.start({
  address,
  log: silentLog,
  facts: { roles: ['sync'], host: 'test', version: '0.0.0' },
  isAlone: false,
})
await SyncEngine.start({
  db,
  instance,
  pulse: new Pulse(db, silentLog, 0.1),
  connectorOf: provided.connectorOf,
  followers: [openMailFollower({ db, log: silentLog }), memoryFollower(db, 'calendar')],
  log: silentLog,
  pollSeconds: 0.3,
  stallSeconds,
})
process.on('message', ({ ask, accountId, kind, trouble }: Asked) => {
  const half = provided.of(accountId, kind)
  if (trouble !== undefined) half.trouble = trouble
  const { opened, open, reads } = half
  process.send!({ ask, opened, open, reads } satisfies Answered)
})
process.on('disconnect', () => process.exit())
