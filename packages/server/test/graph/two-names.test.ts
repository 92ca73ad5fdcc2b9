import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Caller } from '../caller.ts'
import { readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { addOfficeUser, addShared, connectUser, SANDBOX_APPS } from './delegates.ts'
import { type GraphApp, openGraphApp } from './open-graph-app.ts'

/* A mailbox that one tenant has as an account of its user, and another one as a shared mailbox. */

const SLOTS = 3
const MESSAGES = 24
const AT_ONCE = 6
/** A call is under way for about as long as at Microsoft, so that calls meet. */
const CALL_MS = 25

let opened: GraphApp
beforeAll(async () => {
  opened = await openGraphApp({ config: SANDBOX_APPS })
})
afterAll(() => opened[Symbol.asyncDispose]())

/** Marks messages at the same time. @returns the statuses of the answers */
async function markAll(
  { caller, accountId }: { caller: Caller; accountId: string },
  messages: readonly MessageSummary[],
): Promise<number[]> {
  const statuses: number[] = []
  const left = messages.values()
  const markSome = async () => {
    for (const { id } of left) {
      const path = `/v1/accounts/${accountId}/messages/${id}`
      statuses.push((await caller.patch(path, { isFlagged: true })).status)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, markSome))
  return statuses
}

test('a mailbox that is an own and a shared account has three calls under way together', async () => {
  const { app, sandbox } = opened
  const eva = await addOfficeUser(sandbox, { name: 'eva' })
  const desk = await addOfficeUser(sandbox, { name: 'desk', messages: MESSAGES, delegates: [eva] })
  const own = await connectUser(app, sandbox, desk)
  const tenant = await app.createTenant()
  const delegate = await connectUser(tenant, sandbox, eva)
  const shared = await addShared(tenant, delegate.id, desk)
  const accounts = [
    { caller: app, accountId: own.id },
    { caller: tenant, accountId: shared.id },
  ]
  for (const { caller, accountId } of accounts) await waitForFirstSync(caller, accountId)
  const listed = await Promise.all(accounts.map(({ caller, accountId }) => readMessages(caller, accountId)))
  await sandbox.control('PATCH', '/graph', { concurrentMax: SLOTS, callMilliseconds: CALL_MS })
  const { items: before } = await sandbox.calls({})
  const statuses = await Promise.all(accounts.map((account, nth) => markAll(account, listed[nth]!)))
  expect(statuses.flat().length).toBeGreaterThan(2 * MESSAGES)
  expect(new Set(statuses.flat())).toEqual(new Set([200]))
  const { items } = await sandbox.calls({ after: before.at(-1)!.id })
  expect(items.filter(({ status }) => status === 429)).toEqual([])
})
