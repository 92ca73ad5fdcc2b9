import type { Command } from 'commander'
import type { Db } from '../database/pool.ts'
import { openWaker } from '../database/wake.ts'
import { inTransaction } from '../events/unit-of-work.ts'
import { findTenantOf } from '../features/accounts/accounts/operator.ts'
import {
  countReleasable,
  type HeldOf,
  listReleasable,
  releaseEntries,
} from '../features/sending/outbox/held.ts'
import { recordOperatorAction } from '../features/tenancy/audit-log/record-rows.ts'
import { openLog } from '../kit/log.ts'
import { readAccountId } from './account.ts'
import { CommandError } from './command-error.ts'
import type { Connect } from './connect.ts'
import { requireTenant } from './tenant.ts'

/** Messages that one transaction releases. */
const BATCH_ROWS = 200

interface ReleaseOptions {
  tenant?: string
  account?: string
  dryRun?: boolean
}

export function register(program: Command, connect: Connect) {
  const outbox = program.command('outbox').description('messages that wait to be sent')

  outbox
    .command('release')
    .description('send messages that were held after the database was restored')
    .option('--tenant <name>', 'all of a tenant')
    .option('--account <id>', 'all of an account')
    .option('--dry-run', 'only count them')
    .addHelpText(
      'after',
      `
A database that was restored to an earlier state has forgotten what was sent since. Messages that were due by then are
held: for half an hour the service looks for them among the sent mail of their accounts. What it finds is "sent"; the rest
is "failed" with the reason outcome_unknown, and stays so.

This queues them again, and each is sent as if it were due now. Those that were in fact sent before reach their recipients
a second time, so look at the log of the mail server first. Messages that the service knows to have been handed over are
never released. Invitations of calendar events, which the outbox does not show, are released as well.
POST /v1/accounts/{accountId}/outbox/{outboxId}/release does the same for a single send.

Examples:
  $ npx waxwing outbox release --tenant acme --dry-run
  $ npx waxwing outbox release --account 0199b0f2-5d1a-7c44-9f0e-0d4f2a6c1b7e`,
    )
    .action((options: ReleaseOptions) => release(connect, options))
}

async function release(connect: Connect, { tenant, account, dryRun = false }: ReleaseOptions) {
  if ((tenant === undefined) === (account === undefined))
    throw new CommandError('Give either --tenant or --account.')
  const accountId = account === undefined ? null : readAccountId(account)
  await using connection = await connect()
  const { db } = connection
  const tenantId =
    accountId === null ? (await requireTenant(db, tenant!)).id : await findTenantOf(db, accountId)
  if (!tenantId) throw new CommandError(`There is no account ${accountId}. See "waxwing account list".`)
  const found = await countReleasable(db, { tenantId, accountId })
  if (dryRun) return console.log(`${ofAccounts(found)} would be released.`)
  const log = openLog({ level: 'warn', format: 'pretty', destination: process.stderr })
  await using waker = openWaker(db, log)
  const released: typeof found = []
  for (const { accountId: id } of found) {
    const count = await releaseAll(db, { tenantId, accountId: id })
    released.push({ accountId: id, count })
    waker.wake(id, 'waxwing_outbox')
  }
  console.log(`Released ${ofAccounts(released)}.`)
}

function ofAccounts(counts: ReadonlyArray<{ count: number }>): string {
  const messages = counts.reduce((sum, { count }) => sum + count, 0)
  const some = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`
  return `${some(messages, 'message')} of ${some(counts.length, 'account')}`
}

/** Releases what an account has, batch by batch, each with a row in the audit log. */
async function releaseAll(db: Db, of: HeldOf & { accountId: string }): Promise<number> {
  const { tenantId, accountId } = of
  let released = 0
  for (;;) {
    const ids = await listReleasable(db, of, BATCH_ROWS)
    if (ids.length === 0) return released
    released += await inTransaction(db, tenantId, async unit => {
      await recordOperatorAction(unit.sql, { tenantId, action: 'outbox.release', targets: { accountId } })
      return releaseEntries(unit, accountId, ids)
    })
  }
}
