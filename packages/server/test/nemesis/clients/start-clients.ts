import type { Random } from '../../seeded.ts'
import type { RunAccounts } from '../accounts.ts'
import type { Bed } from '../bed.ts'
import type { History } from '../history.ts'
import type { Leaver } from '../leavers.ts'
import { openApiClient } from './api-client.ts'
import { breakOff } from './break-off.ts'
import { changeCalendars } from './change-calendars.ts'
import { changeContacts } from './change-contacts.ts'
import { changeMail } from './change-mail.ts'
import { changePasswords } from './change-passwords.ts'
import type { ClientRun, RunAccount } from './client-run.ts'
import { deleteAccounts } from './delete-accounts.ts'
import { editEndpoints, type RunEndpoint } from './edit-endpoints.ts'
import { readBodies } from './read-bodies.ts'
import { FEED_READERS, type Position, readFeedForever } from './read-feed.ts'
import { renewGrants } from './renew-grants.ts'
import { sendMail } from './send-mail.ts'
import { spendWindows } from './spend-windows.ts'
import { useOtherProgram } from './use-other-program.ts'
import { writeDrafts } from './write-drafts.ts'

/** Everybody who uses the service during a run. Disposing them ends them, whatever happened. */
export interface Clients extends AsyncDisposable {
  /** Resolves once each client has the outcome of its last request. Rejects if one of them has failed. */
  end(): Promise<void>
  /** How far each reader of the feed has come. They read on until `endReading`. */
  positions: readonly Position[]
  endReading(): Promise<void>
}

/** Load that only some runs have. */
export interface Load {
  /** The share of requests with an Idempotency-Key that are sent twice at once before. */
  doubledShare: number
  /** Whether one client breaks off its requests. */
  isBrokenOff: boolean
}

interface Options {
  bed: Bed
  accounts: RunAccounts
  endpoints: readonly RunEndpoint[]
  /** Accounts that are deleted, and a key of their tenant. */
  leaving: { leavers: readonly Leaver[]; key: string }
  /** Keys of tenants whose requests are limited: of one that spends its windows, and of one that never does. */
  keys: { limited: string; counted: string }
  load: Load
  history: History
  random: Random
}

export function startClients(options: Options): Clients {
  const { bed, accounts, endpoints, leaving, keys, load, history, random } = options
  const [over, reading] = [new AbortController(), new AbortController()]
  const open = (name: string, own: readonly RunAccount[], key = bed.key, until = over.signal): ClientRun => {
    const { doubledShare } = load
    const given = { actor: name, addresses: () => bed.addresses(), key, history, doubledShare, signal: until }
    const api = openApiClient({ ...given, random: random.fork(name) })
    return { name, bed, api, accounts: own, history, random: random.fork(`${name} acts`), signal: until }
  }
  const [even, odd] = [0, 1].map(half => accounts.changed.filter((_, index) => index % 2 === half))
  const edited = endpoints.filter((_, index) => index % 4 === 0)
  const done = Promise.all([
    sendMail(open('sender 1', accounts.sending)),
    sendMail(open('sender 2', accounts.sending)),
    writeDrafts(open('writer', accounts.sending)),
    changeMail(open('changer 1', even ?? [])),
    changeMail(open('changer 2', odd ?? [])),
    changeContacts(
      open(
        'keeper of contacts',
        accounts.withBooks.map(({ account }) => account),
      ),
    ),
    changeCalendars(
      open(
        'keeper of calendars',
        accounts.withCalendars.map(({ account }) => account),
      ),
    ),
    ...accounts.locked.map((account, nth) => changePasswords(open(`locksmith ${nth + 1}`, [account]))),
    renewGrants(open('grantor', accounts.granted)),
    readBodies(open('reader of bodies', accounts.changed)),
    editEndpoints(open('editor', []), edited),
    deleteAccounts(open('leaver', [], leaving.key), leaving.leavers),
    spendWindows(open('spender', [], keys.limited)),
    ...(load.isBrokenOff ? [breakOff(open('breaker', []), keys.counted)] : []),
    useOtherProgram(
      open('other program', []),
      accounts.foreign.map(({ client }) => client),
    ),
    useOtherProgram(
      open('other program of contacts', []),
      accounts.withBooks.map(({ book }) => book),
    ),
    useOtherProgram(
      open('other program of calendars', []),
      accounts.withCalendars.map(({ calendars }) => calendars),
    ),
  ])
  const readers = Object.entries(FEED_READERS).map(([name, readOnce]) => {
    const position: Position = { lastId: null, cursor: null }
    return { position, done: readFeedForever(open(name, [], bed.key, reading.signal), readOnce, position) }
  })
  // Rejections are reported by `end`.
  done.catch(() => {})
  return {
    async end() {
      over.abort()
      await done
    },
    positions: readers.map(({ position }) => position),
    async endReading() {
      reading.abort()
      await Promise.all(readers.map(reader => reader.done))
    },
    async [Symbol.asyncDispose]() {
      over.abort()
      reading.abort()
      await Promise.allSettled([done, ...readers.map(reader => reader.done)])
    },
  }
}
