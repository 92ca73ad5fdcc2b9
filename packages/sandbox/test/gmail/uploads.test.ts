import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { letter } from '../letter.ts'
import { useGmail } from './use-gmail.ts'

const gmail = useGmail()
const CHUNK = 256 * 1024
const big = letter({ To: 'ben@gmail.test', Subject: 'Zebra' }, 'A'.repeat(CHUNK + 1000))
const SEND = '/upload/gmail/v1/users/me/messages/send'

async function bytesOf(user: string): Promise<Buffer> {
  const token = await gmail.token(user)
  const { data } = await gmail.ask(token, 'GET', 'messages?q=subject:zebra')
  const { data: message } = await gmail.ask(token, 'GET', `messages/${data.messages[0].id}?format=raw`)
  return Buffer.from(message.raw, 'base64url')
}

test('takes a message in one piece, from a client library, with its metadata', async () => {
  const { users } = await gmail.client('ada@gmail.test')
  const draft = await gmail.checked(
    'draft',
    users.drafts.create(
      {
        userId: 'me',
        requestBody: { message: {} },
        media: { mimeType: 'message/rfc822', body: Readable.from([big]) },
      },
      gmail.options,
    ),
  )
  expect(draft.message?.labelIds).toEqual(['DRAFT'])
  expect((await bytesOf('ada@gmail.test')).equals(big)).toBe(true)
})

test('takes a message in one piece without metadata', async () => {
  const token = await gmail.token('ada@gmail.test')
  const type = { 'content-type': 'message/rfc822' }
  const inserted = await gmail.ask(
    token,
    'POST',
    '/upload/gmail/v1/users/me/messages?uploadType=media',
    big,
    type,
  )
  expect(inserted.status).toBe(200)
  expect((await bytesOf('ada@gmail.test')).equals(big)).toBe(true)
  const wrong = await gmail.ask(token, 'POST', `${SEND}?uploadType=media`, big, {
    'content-type': 'text/plain',
  })
  expect(wrong.status).toBe(400)
})

async function begin(path = SEND) {
  const token = await gmail.token('ada@gmail.test')
  const headers = { 'content-type': 'application/json', 'x-upload-content-type': 'message/rfc822' }
  const opened = await gmail.ask(token, 'POST', `${path}?uploadType=resumable`, {}, headers)
  expect(opened.status).toBe(200)
  const location = opened.headers.get('location') as string
  return async (range: string | null, body?: Buffer) =>
    fetch(location, {
      method: 'PUT',
      headers: range === null ? {} : { 'content-range': range },
      ...(body && { body: new Uint8Array(body) }),
    })
}

test('takes a message in pieces, says how far it came, and goes on after a break', async () => {
  const put = await begin()
  const first = await put(`bytes 0-${CHUNK - 1}/${big.length}`, big.subarray(0, CHUNK))
  expect([first.status, first.headers.get('range')]).toEqual([308, `bytes=0-${CHUNK - 1}`])
  const asked = await put(`bytes */${big.length}`)
  expect([asked.status, asked.headers.get('range')]).toEqual([308, `bytes=0-${CHUNK - 1}`])
  expect((await put(`bytes 5-${CHUNK + 4}/${big.length}`, big.subarray(5, CHUNK + 5))).status).toBe(400)
  const last = await put(`bytes ${CHUNK}-${big.length - 1}/${big.length}`, big.subarray(CHUNK))
  expect(last.status).toBe(200)
  expect((await bytesOf('ben@gmail.test')).includes(big.subarray(big.indexOf('\r\n\r\n')))).toBe(true)
  expect((await put(`bytes */${big.length}`)).status).toBe(404)
})

test('takes a message of unknown length, and one put whole', async () => {
  const put = await begin('/resumable/upload/gmail/v1/users/me/drafts')
  expect((await put(`bytes 0-${CHUNK - 1}/*`, big.subarray(0, CHUNK))).status).toBe(308)
  expect((await put(`bytes ${CHUNK}-${big.length - 1}/${big.length}`, big.subarray(CHUNK))).status).toBe(200)
  expect((await bytesOf('ada@gmail.test')).equals(big)).toBe(true)
  const whole = await begin()
  expect((await whole(null, big)).status).toBe(200)
})

test('takes only pieces of full size before the last', async () => {
  const put = await begin()
  expect((await put(`bytes 0-999/${big.length}`, big.subarray(0, 1000))).status).toBe(400)
  expect((await put('bytes nonsense', big)).status).toBe(400)
})

test('forgets an upload after a week', async () => {
  const put = await begin()
  gmail.sandbox.world.clock.turn(8 * 24 * 3600 * 1000)
  expect((await put(`bytes */${big.length}`)).status).toBe(404)
})

test('refuses a message that is too large', async () => {
  const token = await gmail.token('ada@gmail.test')
  const headers = { 'x-upload-content-type': 'message/rfc822', 'x-upload-content-length': '36700161' }
  const answer = await gmail.ask(token, 'POST', `${SEND}?uploadType=resumable`, {}, headers)
  expect(answer.status).toBe(413)
})
