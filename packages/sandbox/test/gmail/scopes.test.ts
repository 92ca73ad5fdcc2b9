import { expect, test } from 'vitest'
import { letter } from '../letter.ts'
import { gmailScope, MAIL, rawOf, useGmail } from './use-gmail.ts'

const gmail = useGmail()
const raw = rawOf(letter({ To: 'ben@gmail.test', Subject: 'x' }))

const READING = ['profile', 'read', 'metadata', 'search', 'sendAs']
const MODIFYING = [...READING, 'modify', 'trash', 'send', 'insert', 'draft', 'label']

/** Calls below that each scope allows. */
const OPENS: Record<string, string[]> = {
  [MAIL]: [...MODIFYING, 'delete'],
  [gmailScope('modify')]: MODIFYING,
  [gmailScope('readonly')]: READING,
  [gmailScope('metadata')]: ['profile', 'metadata'],
  [gmailScope('compose')]: ['profile', 'send', 'draft'],
  [gmailScope('send')]: ['send'],
  [gmailScope('insert')]: ['insert'],
  [gmailScope('labels')]: ['label'],
  [gmailScope('settings.basic')]: ['sendAs', 'signature'],
  [gmailScope('settings.sharing')]: ['signature', 'alias'],
}

const CALLS: Record<string, [method: string, path: string, body?: object]> = {
  profile: ['GET', 'profile'],
  read: ['GET', 'messages/{id}?format=full'],
  metadata: ['GET', 'messages/{id}?format=metadata'],
  search: ['GET', 'messages?q=lunch'],
  modify: ['POST', 'messages/{id}/modify', { addLabelIds: ['STARRED'] }],
  trash: ['POST', 'messages/{id}/trash'],
  delete: ['DELETE', 'messages/{id}'],
  send: ['POST', 'messages/send', { raw }],
  insert: ['POST', 'messages', { raw }],
  draft: ['POST', 'drafts', { message: { raw } }],
  label: ['POST', 'labels', { name: 'New' }],
  sendAs: ['GET', 'settings/sendAs'],
  signature: ['PATCH', 'settings/sendAs/ada@gmail.test', { signature: 'Ada' }],
  alias: ['POST', 'settings/sendAs', { sendAsEmail: 'a@gmail.test' }],
}

test.each(Object.entries(OPENS))('%s opens %s, and nothing else', async (scope, opens) => {
  const token = await gmail.token('ada@gmail.test', [scope])
  const { data } = await gmail.ask(await gmail.token('ada@gmail.test'), 'GET', 'messages?maxResults=1')
  const id = data.messages[0].id as string
  const opened = []
  for (const [name, [method, path, body]] of Object.entries(CALLS).toSorted(
    ([a], [b]) => Number(a === 'delete') - Number(b === 'delete'),
  )) {
    const answer = await gmail.ask(token, method, path.replace('{id}', id), body)
    if (answer.status < 300) opened.push(name)
    else expect([name, answer.status]).toEqual([name, 403])
  }
  expect(opened.toSorted()).toEqual(opens.toSorted())
})

test('refuses a token that is unknown, and none', async () => {
  const answer = await gmail.ask('ya29.none', 'GET', 'profile')
  expect(answer.data.error).toMatchObject({
    code: 401,
    status: 'UNAUTHENTICATED',
    errors: [{ reason: 'authError' }],
  })
  expect((await fetch(`${gmail.origin}/gmail/v1/users/me/profile`)).status).toBe(401)
})

test('refuses a token an hour later, and one of a user who is suspended', async () => {
  const { controlUrl, world } = gmail.sandbox
  const user = 'ada@gmail.test'
  const token = await gmail.token(user)
  const status = async (of: string) => (await gmail.ask(of, 'GET', 'profile')).status
  const suspend = (suspended: boolean) =>
    fetch(`${controlUrl}/users/${user}`, { method: 'PATCH', body: JSON.stringify({ suspended }) })
  expect(await status(token)).toBe(200)
  await suspend(true)
  expect(await status(token)).toBe(401)
  await suspend(false)
  expect(await status(token)).toBe(200)
  world.clock.turn(3_600_000)
  expect(await status(token)).toBe(401)
  expect(await status(await gmail.token(user))).toBe(200)
})
