import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { useServer } from '../servers/shared-server.ts'
import { readMessages } from '../sync/followed-account.ts'
import { askForSync, waitForRuntime } from '../sync/proxied-account.ts'
import { waitUntil } from '../wait-until.ts'
import { connectGmail, letter, openGmailApp } from './open-gmail-app.ts'

const opened = useServer(() => openGmailApp())

/** Labels of Gmail that a client can give a message. */
const PLACES = ['INBOX', 'SPAM', 'TRASH', 'IMPORTANT']

test('a message of Gmail that cannot be read is reported, and keeps no other from being read (C2)', async () => {
  const { app, sandbox } = opened()
  let poisoned = ''
  const account = await connectGmail(opened(), async client => {
    for (let number = 1; number <= 12; number++) {
      const { id } = await client.insert(letter(`letter ${number}`), ['INBOX'])
      if (number === 5) poisoned = id
    }
    await sandbox.addFault({
      does: 'error',
      host: 'gmail.googleapis.com',
      path: `/gmail/v1/users/me/messages/${poisoned}`,
    })
  })
  const { accountId, client } = account
  const subjects = async () => (await readMessages(app, accountId)).map(({ subject }) => subject).toSorted()
  const numbered = (numbers: readonly number[]) => numbers.map(number => `letter ${number}`).toSorted()
  const readable = Array.from({ length: 12 }, (_, index) => index + 1).filter(number => number !== 5)
  expect(await subjects()).toEqual(numbered(readable))
  await waitForRuntime(app, accountId, 'live', /; 1 messages could not be read and are tried again/)
  const { rows } = await sql<{ id: string }>`select remote_id as id from quarantined_message`.execute(app.db)
  expect(rows).toEqual([{ id: poisoned }])

  const label = await client.createLabel('Label')
  for (const place of [...PLACES, label]) await client.insert(letter(`added to ${place}`), [place])
  await client.insert(letter('added to nothing'), [])
  const added = [...PLACES, label, 'nothing'].map(place => `added to ${place}`)
  await waitUntil('all to be indexed', async () => {
    const found = await subjects()
    return added.every(subject => found.includes(subject))
  })
  await waitForRuntime(app, accountId, 'live', /; 1 messages could not be read/)

  await sandbox.clearFaults()
  await sql`update quarantined_message set next_attempt_at = clock_timestamp()`.execute(app.db)
  await askForSync(app, accountId)
  await waitUntil('the message', async () => (await subjects()).includes('letter 5'))
  await waitForRuntime(app, accountId, 'live', /^(?!.*could not be read)/)
})

test('a draft whose new content cannot be read yet keeps its id, and is updated once it can', async () => {
  const { app, sandbox } = opened()
  const account = await connectGmail(opened(), client => client.createDraft(letter('mine')))
  const { accountId, client } = account
  const { id } = await account.message('mine')
  const [draft] = await client.drafts()
  await sandbox.addFault({
    does: 'error',
    host: 'gmail.googleapis.com',
    method: 'GET',
    path: '/gmail/v1/users/me/messages/*',
  })
  await client.updateDraft(draft!, letter('theirs'))
  await waitForRuntime(app, accountId, 'live', /; 1 messages could not be read/)
  expect(await account.messages()).toMatchObject([{ id, subject: 'mine' }])

  await sandbox.clearFaults()
  await sql`update quarantined_message set next_attempt_at = clock_timestamp()`.execute(app.db)
  await askForSync(app, accountId)
  expect(await account.message('theirs')).toMatchObject({ id, isDraft: true })
  const events = await account.settledFeed()
  expect(events.filter(event => event.startsWith('message.'))).toEqual([
    expect.stringMatching(/^message\.updated theirs .*subject/),
  ])
  expect(await account.messages()).toHaveLength(1)
})
