import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { callerOf } from '../caller.ts'
import type { Random } from '../seeded.ts'
import { waitForContacts } from '../contacts/carddav-account.ts'
import { readChangingTruth } from '../servers/reference.ts'
import { openWorld } from '../servers/world.ts'
import { furnish } from '../sync/disturbance.ts'
import { waitForFirstSync } from '../sync/followed-account.ts'
import type { OtherClient } from '../sync/other-client.ts'
import { waitForCalendars } from '../calendars/caldav-account.ts'
import { type AddressBook, KINDS_WITH_BOOKS } from './address-books.ts'
import type { Bed } from './bed.ts'
import type { ComparedAccount, RunAccount } from './clients/client-run.ts'
import { openGraphAccounts } from './graph-accounts.ts'
import { inBatchesOf } from './in-batches.ts'
import { letterTo } from './letters.ts'
import { KINDS_WITH_CALENDARS, type RunCalendars } from './run-calendars.ts'

/** The accounts of a run, by what happens to them. Each list but `locked` and `granted` has accounts of both providers. */
export interface RunAccounts extends AsyncDisposable {
  /** Changed by another mail program only. */
  foreign: Array<{ account: RunAccount; client: Pick<OtherClient, 'act'> }>
  /** Changed by the API only. */
  changed: RunAccount[]
  /** Their users send mail and write drafts. */
  sending: RunAccount[]
  /** Accounts with contacts, at a CardDAV server or of Graph, which both the API and another program change. */
  withBooks: Array<{ account: RunAccount; book: AddressBook }>
  /** Accounts with calendars, at a CalDAV server or of Graph, which both the API and another program change. */
  withCalendars: Array<{ account: RunAccount; calendars: RunCalendars }>
  /** Accounts of IMAP whose passwords change. */
  locked: RunAccount[]
  /** Accounts of Graph whose grants end. */
  granted: RunAccount[]
  all: ComparedAccount[]
}

export interface MadeAccount {
  account: ComparedAccount
  kind: AccountKind
  /** The other mail program of a `foreign` account. */
  client: Pick<OtherClient, 'act'> | null
}

const AT_ONCE = 6
const LETTERS = 15
/** One of so many has a password that changes, and one at least. */
const ACCOUNTS_FOR_A_LOCKED_ONE = 20
/** One of so many is an account of Graph, besides at least one of each kind. */
const ACCOUNTS_FOR_ONE_OF_GRAPH = 5
const GRAPH_ACCOUNTS_MIN = 4
const FIRST_SYNC_SECONDS_MAX = 240

/**
 * Makes users with mail, connects them, and waits until all are followed.
 * @param count accounts of IMAP; those of Graph come on top
 */
export async function openAccounts(bed: Bed, count: number, random: Random): Promise<RunAccounts> {
  await using opened = new AsyncDisposableStack()
  const ofGraph = Math.max(GRAPH_ACCOUNTS_MIN, Math.floor(count / ACCOUNTS_FOR_ONE_OF_GRAPH))
  const accounts = [
    ...(await openImapAccounts(bed, opened, count, random)),
    ...(await openGraphAccounts(bed, ofGraph, random.fork('graph'))),
  ]
  await inBatchesOf(AT_ONCE, accounts, ({ account }) =>
    waitForFirstSync(callerOf(bed.addresses()[0] ?? '', bed.key), account.id, FIRST_SYNC_SECONDS_MAX),
  )
  const withBooks = accounts.flatMap(({ account }) => (account.book ? { account, book: account.book } : []))
  await inBatchesOf(AT_ONCE, withBooks, ({ account }) =>
    waitForContacts(callerOf(bed.addresses()[0] ?? '', bed.key), account.id),
  )
  const withCalendars = accounts.flatMap(({ account }) =>
    account.calendars ? { account, calendars: account.calendars } : [],
  )
  await inBatchesOf(AT_ONCE, withCalendars, ({ account }) =>
    waitForCalendars(callerOf(bed.addresses()[0] ?? '', bed.key), account.id),
  )
  const owned = opened.move()
  const of = (wanted: AccountKind) =>
    accounts.flatMap(({ account, kind }) => (kind === wanted ? account : []))
  return {
    foreign: accounts.flatMap(({ account, client }) => (client ? { account, client } : [])),
    changed: of('changed'),
    sending: of('sending'),
    withBooks,
    withCalendars,
    locked: of('locked'),
    granted: of('granted'),
    all: accounts.map(({ account }) => account),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function openImapAccounts(
  bed: Bed,
  opened: AsyncDisposableStack,
  count: number,
  random: Random,
): Promise<MadeAccount[]> {
  const lockedCount = Math.max(1, Math.floor(count / ACCOUNTS_FOR_A_LOCKED_ONE))
  const numbers = Array.from({ length: count }, (_, number) => number)
  const made = await inBatchesOf(AT_ONCE, numbers, async number => {
    const user = await bed.mail.addUser(`user-${number}`)
    const world = opened.use(await openWorld(bed.mail, user))
    // Two of five are the other program's, two the API's, one sends; of the last ones, the passwords change.
    const kind: AccountKind = number >= count - lockedCount ? 'locked' : KINDS[number % KINDS.length]!
    const client = kind === 'foreign' ? await furnish(bed.mail, user, world, random.fork(user.user)) : null
    if (!client) await world.deliver(Array.from({ length: LETTERS }, (_, nth) => letterTo(user.email, nth)))
    const hasBook = number % KINDS.length < KINDS_WITH_BOOKS && kind !== 'locked'
    const hasCalendars = number % KINDS.length < KINDS_WITH_CALENDARS
    const book = hasBook ? await bed.books.open(random.fork(`book of ${user.user}`), { hasCalendars }) : null
    return { user, kind, client, book }
  })
  return inBatchesOf(AT_ONCE, made, async ({ user, kind, client, book }) => {
    const caller = callerOf(bed.addresses()[0] ?? '', bed.key)
    const { status, body } = await caller.post<Account>('/v1/imap-accounts', {
      email: user.email,
      password: user.password,
      imap: { host: bed.imapProxy.host, port: bed.imapProxy.port, security: 'none', user: user.user },
      smtp: { host: bed.smtpProxy.host, port: bed.smtpProxy.port, security: 'none', user: user.user },
      ...(book && { dav: book.dav }),
      appendSent: kind === 'sending',
      settings: { syncWindowDays: null, bodyStorage: kind === 'changed' ? 'full' : 'none' },
    })
    if (status !== 200) throw new Error(`could not connect: ${JSON.stringify(body)}`)
    const account: ComparedAccount = {
      id: body.id,
      user,
      // The password may have changed by then.
      readTruth: () => readChangingTruth(bed.mail, account.user),
      book,
      calendars: book?.calendars ?? null,
      isInviting: true,
    }
    return { account, kind, client }
  })
}

const KINDS = ['foreign', 'changed', 'sending', 'foreign', 'changed'] as const
export type AccountKind = (typeof KINDS)[number] | 'locked' | 'granted'
