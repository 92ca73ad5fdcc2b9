import type { AuditAction } from '@waxwing/contract/operation.ts'
import { type Command, InvalidArgumentError } from 'commander'
import { openWaker } from '../database/wake.ts'
import { inTransaction, type UnitOfWork } from '../events/unit-of-work.ts'
import { deleteAccount } from '../features/accounts/accounts/deletion.ts'
import { type EndingKeys, openEndingKeys } from '../features/accounts/grants/revocation.ts'
import {
  type Decision,
  findTenantOf,
  listAccountsOfAll,
  type ListedAccount,
  resumeAccount,
  stopAccount,
} from '../features/accounts/accounts/operator.ts'
import { presentAccount } from '../accounts/present.ts'
import { recordOperatorAction } from '../features/tenancy/audit-log/record-rows.ts'
import { isUuid } from '../kit/ids.ts'
import { openLog } from '../kit/log.ts'
import { CommandError } from './command-error.ts'
import type { CommandConnection, Connect } from './connect.ts'
import { requireTenant } from './tenant.ts'

interface ListOptions {
  tenant?: string
  behind?: boolean
  limit: number
  after?: string
  json?: boolean
}

const LIMIT = 100
const LIMIT_MAX = 1_000

export function register(program: Command, connect: Connect) {
  const account = program.command('account').description('connected mailboxes, of every tenant')
  addList(account, connect)

  account
    .command('pause')
    .description('stop following an account, and refuse reads from its mail server')
    .argument('<id>', 'as shown by "account list"')
    .addHelpText(
      'after',
      `
The account becomes "disabled" with the reason "operator"; its indexed data stays readable. Callers of the API cannot
resume it, but a new password for the account (PATCH …/imap-settings) makes it active. To lock out a tenant, suspend it.`,
    )
    .action((id: string) =>
      decide(connect, readAccountId(id), stopAccount, { done: 'Stopped', verb: 'stop' }),
    )

  account
    .command('resume')
    .description('follow an account again after "account pause"')
    .argument('<id>', 'as shown by "account list"')
    .addHelpText('after', '\nThe account becomes "active", even if its user had paused it before.')
    .action((id: string) =>
      decide(connect, readAccountId(id), resumeAccount, { done: 'Resumed', verb: 'resume' }),
    )

  account
    .command('delete')
    .description('delete an account with its password and tokens, as DELETE /v1/accounts/{accountId} does')
    .argument('<id>', 'as shown by "account list"')
    .option('--purge', 'delete indexed and stored data soon, not after 30 days')
    .action((id: string, { purge = false }: { purge?: boolean }) => remove(connect, readAccountId(id), purge))
}

function addList(account: Command, connect: Connect) {
  account
    .command('list')
    .description('list accounts with their state, oldest first')
    .option('--tenant <name>', 'only accounts of one tenant')
    .option('--behind', 'only active accounts that fail, lag or are not followed, the longest first')
    .option('--limit <count>', `maximum number of accounts, up to ${LIMIT_MAX}`, readLimit, LIMIT)
    .option('--after <id>', 'start after this account')
    .option('--json', 'print one line of JSON')
    .addHelpText(
      'after',
      `
Each line: id, tenant, address, status, the last report of its process, and that process.

Examples:
  $ npx waxwing account list --behind
  $ npx waxwing account list --tenant acme --limit 1000 --json`,
    )
    .action((options: ListOptions) => list(connect, options))
}

async function list(connect: Connect, { tenant: name, behind, limit, after, json }: ListOptions) {
  const afterId = after === undefined ? null : readAccountId(after)
  if (behind && afterId !== null) throw new CommandError('--after cannot be used with --behind.')
  await using connection = await connect()
  const { db } = connection
  const tenantId = name === undefined ? null : (await requireTenant(db, name)).id
  const selection = { tenantId, isBehind: behind === true, afterId, limit: limit + 1 }
  const rows = await listAccountsOfAll(db, selection)
  const accounts = rows.slice(0, limit).map(shown)
  const last = accounts.at(-1)
  const hasMore = rows.length > limit
  if (json) return console.log(JSON.stringify({ accounts, hasMore }))
  for (const each of accounts) console.log(describe(each))
  if (hasMore && last) console.log(behind ? 'There are more.' : `There are more: --after ${last.id}`)
}

function shown(row: ListedAccount) {
  const { id, email, status, statusReason, runtime } = presentAccount(row)
  return { id, tenant: row.tenant_name, email, status, statusReason, runtime }
}

function describe({ id, tenant, email, status, statusReason, runtime }: ReturnType<typeof shown>): string {
  const state = runtime
    ? [runtime.state, ...(runtime.detail === null ? [] : [runtime.detail])].join(': ')
    : 'never followed'
  const owner = runtime ? [`process ${runtime.ownerInstanceId}`] : []
  const fields = [id, tenant, email, statusReason ? `${status} (${statusReason})` : status, state, ...owner]
  // Some fields were written by others, and a terminal would execute control characters.
  return fields.map(field => field.replaceAll(/\p{C}/gu, ' ')).join('  ')
}

type Change = (unit: UnitOfWork, id: string, keys: EndingKeys) => Promise<Decision | null>

async function decide(connect: Connect, id: string, change: Change, words: { done: string; verb: string }) {
  const decision = await changeAccount(connect, id, async (unit, { db, keyRing }) => {
    const made = await change(unit, id, await openEndingKeys(db, keyRing))
    if (made?.isDone) await recordAction(unit, 'account.update', id)
    return made
  })
  if (!decision) throw new CommandError(`The account ${id} was deleted.`)
  const { email, status, status_reason: reason } = decision.account
  if (!decision.isDone) {
    const state = reason ? `${status} (${reason})` : status
    throw new CommandError(`${email} is ${state}. There is nothing to ${words.verb}.`)
  }
  console.log(`${words.done} ${email}.`)
}

async function remove(connect: Connect, id: string, purge: boolean) {
  await changeAccount(connect, id, async (unit, { db, keyRing }) => {
    await deleteAccount(unit, await openEndingKeys(db, keyRing), id, { purge })
    await recordAction(unit, 'account.delete', id)
  })
  console.log(
    purge ? `Deleted ${id}; its data is purged soon.` : `Deleted ${id}; its data is purged in 30 days.`,
  )
}

function recordAction({ sql, tenantId }: UnitOfWork, action: AuditAction, accountId: string): Promise<void> {
  return recordOperatorAction(sql, { tenantId, action, targets: { accountId } })
}

/** Makes the change with its events, and wakes the process that follows the account. */
async function changeAccount<T>(
  connect: Connect,
  id: string,
  change: (unit: UnitOfWork, connection: CommandConnection) => Promise<T>,
): Promise<T> {
  await using connection = await connect()
  const { db } = connection
  const tenantId = await findTenantOf(db, id)
  if (!tenantId) throw new CommandError(`There is no account ${id}. See "waxwing account list".`)
  const result = await inTransaction(db, tenantId, unit => change(unit, connection))
  const log = openLog({ level: 'warn', format: 'pretty', destination: process.stderr })
  await using waker = openWaker(db, log)
  waker.wake(id)
  return result
}

export function readAccountId(text: string): string {
  if (isUuid(text.toLowerCase())) return text.toLowerCase()
  throw new CommandError(`"${text}" is no id of an account. "waxwing account list" shows them.`)
}

function readLimit(text: string): number {
  const value = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN
  if (value >= 1 && value <= LIMIT_MAX) return value
  throw new InvalidArgumentError(`Give a whole number from 1 to ${LIMIT_MAX}.`)
}
