import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { callerOf } from '../caller.ts'
import { type SmtpSink, startSmtpSink } from '../servers/smtp-sink.ts'
import { waitUntil } from '../wait-until.ts'
import type { Bed } from './bed.ts'
import { inBatchesOf } from './in-batches.ts'
import { createKeyOfTenant } from './tenants.ts'

/** Tenants whose mail servers take a message and never answer its last dot. */
export interface Hangers extends AsyncDisposable {
  /** Has so many sends of each tenant accepted and not ended that every process could be full of them. */
  fill(): Promise<void>
  /** Lets the servers answer from now on, and cuts what hangs. */
  release(): void
}

interface Hanger {
  key: string
  accountIds: string[]
}

const TENANTS = 2
const HOSTS_PER_TENANT = 7
/** With these a tenant has more to send than its share of a process, although some accounts send one at a time. */
const ACCOUNTS_PER_HOST = 3
/** Each server has an address of its own, since what goes to one host is bounded. */
export const HANGING_HOSTS = Array.from(
  { length: TENANTS * HOSTS_PER_TENANT },
  (_, number) => `127.0.0.${number + 2}`,
)
/** Sends of one account: more than a process sends of it at once. */
const SENDS_PER_PROCESS = 4
const ACCOUNTS_AT_ONCE = 6
const FILL_SECONDS_MAX = 120

export async function openHangers(bed: Bed): Promise<Hangers> {
  await using opened = new AsyncDisposableStack()
  const sinks: SmtpSink[] = []
  const hangers: Hanger[] = []
  for (let tenant = 0; tenant < TENANTS; tenant++) {
    const key = await createKeyOfTenant(bed, `hanging ${tenant}`)
    const hosts = HANGING_HOSTS.slice(tenant * HOSTS_PER_TENANT, (tenant + 1) * HOSTS_PER_TENANT)
    const accountIds: string[] = []
    for (const host of hosts) {
      const sink = opened.use(await startSmtpSink({ listenHost: host, behave: hangAtDot }))
      sinks.push(sink)
      for (let number = 0; number < ACCOUNTS_PER_HOST; number++)
        accountIds.push(await connectHanger(bed, key, { name: `${host}-${number}`, host, port: sink.port }))
    }
    hangers.push({ key, accountIds })
  }
  const owned = opened.move()
  return {
    async fill() {
      for (const { key, accountIds } of hangers)
        await inBatchesOf(ACCOUNTS_AT_ONCE, accountIds, accountId => fillOne(bed, key, accountId))
    },
    release() {
      for (const sink of sinks) {
        sink.behave = () => null
        sink.dropAll()
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

const hangAtDot: SmtpSink['behave'] = ({ step }) => (step === 'dot' ? { does: 'silence' } : null)

async function connectHanger(
  bed: Bed,
  key: string,
  { name, host, port }: { name: string; host: string; port: number },
): Promise<string> {
  const user = await bed.mail.addUser(`hanger-${name}`)
  const { status, body } = await callerOf(bed.addresses()[0] ?? '', key).post<Account>('/v1/imap-accounts', {
    email: user.email,
    password: user.password,
    imap: { host: bed.imapProxy.host, port: bed.imapProxy.port, security: 'none', user: user.user },
    smtp: { host, port, security: 'none', user: user.user },
    appendSent: false,
  })
  if (status !== 200) throw new Error(`could not connect: ${JSON.stringify(body)}`)
  return body.id
}

/** Sends until there are enough sends of the account that have not ended. */
async function fillOne({ database: { db }, addresses, slots }: Bed, key: string, accountId: string) {
  const isFull = async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from outbox where account_id = ${accountId} and status in ('queued', 'sending')
    `.execute(db)
    const missing = SENDS_PER_PROCESS * slots.length - (rows[0]?.count ?? 0)
    const body = { to: [{ address: 'x@x.test' }], subject: 'hang', text: 'x' }
    for (let sent = 0; sent < missing; sent++)
      await callerOf(addresses()[0] ?? '', key)
        .post(`/v1/accounts/${accountId}/outbox`, body)
        .catch(() => null)
    return missing <= 0
  }
  await waitUntil('an account that hangs to have enough sends', isFull, FILL_SECONDS_MAX)
}
