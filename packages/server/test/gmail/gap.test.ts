import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openIndex } from '../../src/providers/conformance/memory-index.ts'
import { useServer } from '../servers/shared-server.ts'
import { waitForRuntime } from '../sync/proxied-account.ts'
import { waitUntil } from '../wait-until.ts'
import { connectGmail, letter, openGmailApp } from './open-gmail-app.ts'
import { reachSandbox } from './reach-sandbox.ts'

const opened = useServer(() => openGmailApp())

test('a mailbox whose history expires twice in an hour shows until when it is incomplete, and new mail comes in', async () => {
  const { app, sandbox } = opened()
  const account = await connectGmail(opened(), client => client.insert(letter('old'), ['INBOX']))
  const [old] = await account.client.messages()
  await sandbox.expireHistory(account.email)
  await account.client.insert(letter('after one expiry'), ['INBOX'])
  await account.message('after one expiry')
  await waitUntil('everything to be listed again', async () => {
    const { rows } = await sql`select from sync_cursor where account_id = ${account.accountId}
      and cursor ->> 'healedAt' is not null and cursor ->> 'listing' is null`.execute(app.db)
    return rows.length === 1
  })
  await waitForRuntime(app, account.accountId, 'live')

  // No look comes between the deletion and the expiry.
  await sandbox.addFault({
    does: 'error',
    status: 503,
    host: 'gmail.googleapis.com',
    path: '/gmail/v1/users/me/history',
  })
  await account.client.delete(old!.id)
  await sandbox.expireHistory(account.email)
  await sandbox.clearFaults()
  await account.client.insert(letter('after another'), ['INBOX'])
  await account.message('after another')
  await waitForRuntime(
    app,
    account.accountId,
    'syncing',
    /^changes are missing, since the history of Gmail had expired; everything is listed again at 2\d{3}-\S+Z; /,
  )
  expect((await account.messages()).map(({ subject }) => subject)).toContain('old')

  // The hour is over.
  await waitUntil('the account to be live', async () => {
    await sql`update sync_cursor set cursor = cursor || '{"healedAt": 0}'
      where account_id = ${account.accountId} and (cursor ->> 'hasGap')::boolean`.execute(app.db)
    return (await app.get<Account>(account.path)).body.runtime?.state === 'live' || null
  })
  expect((await account.messages()).map(({ subject }) => subject).toSorted()).toEqual([
    'after another',
    'after one expiry',
  ])
})

test('a mailbox is listed once more without any message being fetched', async () => {
  const { sandbox } = opened()
  const email = 'listed-again@gmail.test'
  await sandbox.addUser(email, { messages: 40 })
  await using reached = await reachSandbox(sandbox, email)
  await using account = reached.connect()
  const { mail } = account
  await mail.listMailboxes()
  const index = openIndex('history')
  await index.follow(mail)
  const { items } = await sandbox.calls({ user: email })
  index.takeSteps()

  index.cursor = mail.relist!(index.cursor!)
  expect(mail.isComplete(index.cursor, null)).toBe(false)
  await index.bring(mail)
  expect(mail.isComplete(index.cursor, null)).toBe(true)
  const told = index.takeSteps().flatMap(step => (step.type === 'page' ? step.steps : []))
  const keys = told.flatMap(step => (step.type === 'states' ? step.changes.map(({ key }) => key) : []))
  expect(keys.toSorted()).toEqual([...index.messages.keys()].toSorted())
  const { items: since } = await sandbox.calls({ user: email, after: Math.max(...items.map(({ id }) => id)) })
  expect(since.filter(({ path }) => /\/(?:messages|threads)\/[^/]+$/.test(path))).toEqual([])
})
