import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { inBatchesOf } from './in-batches.ts'
import { callerOf } from '../caller.ts'
import type { Random } from '../seeded.ts'
import { openWorld } from '../servers/world.ts'
import { furnish } from '../sync/disturbance.ts'
import { waitForFirstSync } from '../sync/followed-account.ts'
import type { OtherClient } from '../sync/other-client.ts'
import type { Bed } from './bed.ts'
import type { RunAccount } from './clients/client-run.ts'

/** The accounts of a run, by what happens to them. */
export interface RunAccounts extends AsyncDisposable {
  /** Changed by another mail program only. */
  foreign: Array<{ account: RunAccount; client: OtherClient }>
  /** Changed by the API only. */
  changed: RunAccount[]
  /** Their users send mail and write drafts. */
  sending: RunAccount[]
  /** Their passwords change. */
  locked: RunAccount[]
  all: RunAccount[]
}

const AT_ONCE = 6
const LETTERS = 15
/** One of so many has a password that changes, and one at least. */
const ACCOUNTS_FOR_A_LOCKED_ONE = 20
const FIRST_SYNC_SECONDS_MAX = 240

/** Makes users with mail, connects them, and waits until all are followed. */
export async function openAccounts(bed: Bed, count: number, random: Random): Promise<RunAccounts> {
  await using opened = new AsyncDisposableStack()
  const lockedCount = Math.max(1, Math.floor(count / ACCOUNTS_FOR_A_LOCKED_ONE))
  const numbers = Array.from({ length: count }, (_, number) => number)
  const made = await inBatchesOf(AT_ONCE, numbers, async number => {
    const user = await bed.mail.addUser(`user-${number}`)
    const world = opened.use(await openWorld(bed.mail, user))
    // Two of five are the other program's, two the API's, one sends; of the last ones, the passwords change.
    const kind = number >= count - lockedCount ? 'locked' : KINDS[number % KINDS.length]!
    const client = kind === 'foreign' ? await furnish(bed.mail, user, world, random.fork(user.user)) : null
    if (!client) await world.deliver(Array.from({ length: LETTERS }, (_, nth) => letterTo(user.email, nth)))
    return { user, kind, client }
  })
  const accounts = await inBatchesOf(AT_ONCE, made, async ({ user, kind, client }) => {
    const caller = callerOf(bed.addresses()[0] ?? '', bed.key)
    const { status, body } = await caller.post<Account>('/v1/imap-accounts', {
      email: user.email,
      password: user.password,
      imap: { host: bed.imapProxy.host, port: bed.imapProxy.port, security: 'none', user: user.user },
      smtp: { host: bed.smtpProxy.host, port: bed.smtpProxy.port, security: 'none', user: user.user },
      appendSent: kind === 'sending',
      settings: { syncWindowDays: null, bodyStorage: kind === 'changed' ? 'full' : 'none' },
    })
    if (status !== 200) throw new Error(`could not connect: ${JSON.stringify(body)}`)
    return { account: { id: body.id, user }, kind, client }
  })
  await inBatchesOf(AT_ONCE, accounts, ({ account }) =>
    waitForFirstSync(callerOf(bed.addresses()[0] ?? '', bed.key), account.id, FIRST_SYNC_SECONDS_MAX),
  )
  const owned = opened.move()
  const of = (wanted: Kind) => accounts.flatMap(({ account, kind }) => (kind === wanted ? account : []))
  return {
    foreign: accounts.flatMap(({ account, client }) => (client ? { account, client } : [])),
    changed: of('changed'),
    sending: of('sending'),
    locked: of('locked'),
    all: accounts.map(({ account }) => account),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

const KINDS = ['foreign', 'changed', 'sending', 'foreign', 'changed'] as const
type Kind = (typeof KINDS)[number] | 'locked'

/** One of the messages that lie in the mailboxes of `changed` accounts before anything happens. */
export function letterTo(email: string, number: number) {
  const head = `From: ada@a.test\r\nTo: ${email}\r\nSubject: letter ${number}\r\nMessage-ID: <${number}.${email}>`
  return { raw: `${head}\r\n\r\nHello\r\n`, internalDate: new Date(Date.UTC(2026, 0, 1) + number * 1_000) }
}
