import type { Message } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sweepBlobs } from '../../src/features/mail/content/record-blobs.ts'
import { openBlobStore } from '../../src/kit/blobs/blob-store.ts'
import { openFolderObjects } from '../../src/kit/blobs/folder-objects.ts'
import { generateMail } from '../mail/corpus.ts'
import type { TestApp } from '../open-app.ts'
import { fillMailboxes } from '../servers/fill.ts'
import type { MailServer, TestUser } from '../servers/mail-server.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { openWorld } from '../servers/world.ts'
import { openBlobFolder } from './blob-folder.ts'
import { connectMailbox, openSyncApp, readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { casesFor } from '../soak.ts'

const MIXED = Buffer.from(
  [
    'From: Ada <ada@a.test>',
    'To: you@b.test',
    'Bcc: hidden@b.test',
    'Reply-To: Replies <replies@a.test>',
    'Subject: all kinds',
    'Message-ID: <kinds@a.test>',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=outer',
    '',
    'Nobody reads this.',
    '--outer',
    'Content-Type: multipart/related; boundary=rel',
    '',
    '--rel',
    'Content-Type: multipart/alternative; boundary=alt',
    '',
    '--alt',
    'Content-Type: text/plain; charset=iso-8859-1',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    'Gr=FC=DFe',
    '--alt',
    'Content-Type: text/html; charset=utf-8',
    '',
    '<p>Grüße <img src="cid:logo@a.test"></p>',
    '--alt--',
    '--rel',
    'Content-Type: image/png',
    'Content-ID: <logo@a.test>',
    'Content-Transfer-Encoding: base64',
    '',
    'iVBORw0KGgo=',
    '--rel--',
    '--outer',
    "Content-Type: text/html; name*=utf-8''b%C3%B6se.html",
    "Content-Disposition: attachment; filename*=utf-8''b%C3%B6se%22.html",
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.from('<script>alert(1)</script>').toString('base64'),
    '--outer--',
    '',
  ].join('\r\n'),
)

let blobs: Awaited<ReturnType<typeof openBlobFolder>>
let app: TestApp
beforeAll(async () => {
  blobs = await openBlobFolder()
  app = await openSyncApp({ config: { blobDir: blobs.folder } })
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await blobs[Symbol.asyncDispose]()
})

/** Connects a mailbox until the end of the test, after its first sync. */
async function connect(server: MailServer, user: TestUser, settings: Record<string, unknown>) {
  const accountId = await connectMailbox(app, server, user, settings)
  await waitForFirstSync(app, accountId)
  return {
    accountId,
    files: async () => (await blobs.files()).filter(({ parentPath }) => parentPath.includes(accountId)),
    [Symbol.asyncDispose]: async () => void (await app.delete(`/v1/accounts/${accountId}`)),
  }
}

async function download(url: string, method = 'GET') {
  const answer = await fetch(app.address + url, { method, headers: { authorization: `Bearer ${app.key}` } })
  return { answer, bytes: Buffer.from(await answer.arrayBuffer()) }
}

const SERVERS = casesFor(SERVER_KINDS, ({ name }) => name === 'Dovecot')

describe.each(SERVERS)('reading messages of $name', ({ start }) => {
  const useIt = useServer(start)

  test.each(['none', 'cache', 'full'])(
    'gives body, attachments and source with bodyStorage %s',
    async bodyStorage => {
      const server = useIt()
      const user = await server.addUser()
      await using world = await openWorld(server, user)
      await world.deliver({ raw: MIXED })
      await using account = await connect(server, user, { bodyStorage })
      const { accountId } = account
      const [summary] = await readMessages(app, accountId)
      const url = `/v1/accounts/${accountId}/messages/${summary?.id}`

      for (let time = 0; time < 2; time++) {
        const { status, body } = await app.get<Message>(url)
        expect(status).toBe(200)
        expect(body).toMatchObject({
          ...summary,
          bcc: [{ name: null, address: 'hidden@b.test' }],
          replyTo: [{ name: 'Replies', address: 'replies@a.test' }],
          body: { text: 'Grüße', html: '<p>Grüße <img src="cid:logo@a.test"></p>' },
          classification: null,
        })
        expect(body.attachments).toEqual([
          {
            id: '1.2',
            filename: null,
            contentType: 'image/png',
            size: 8,
            isInline: true,
            contentId: 'logo@a.test',
          },
          {
            id: '2',
            filename: 'böse".html',
            contentType: 'text/html',
            size: 25,
            isInline: false,
            contentId: null,
          },
        ])

        const raw = await download(`${url}/raw`)
        expect(raw.answer.headers.get('content-type')).toBe('message/rfc822')
        expect(raw.answer.headers.get('content-length')).toBeNull()
        expect(raw.answer.headers.get('transfer-encoding')).toBe('chunked')
        expect(raw.bytes.toString()).toBe(MIXED.toString())

        const image = await download(`${url}/attachments/1.2`)
        expect(image.answer.headers.get('content-type')).toBe('image/png')
        expect(image.bytes.toString('hex')).toBe('89504e470d0a1a0a')
        const evil = await download(`${url}/attachments/2`)
        expect(evil.bytes.toString()).toBe('<script>alert(1)</script>')
        expect(Object.fromEntries(evil.answer.headers)).toMatchObject({
          'content-type': 'application/octet-stream',
          'content-disposition': `attachment; filename="b_se_.html"; filename*=UTF-8''b%C3%B6se%22.html`,
          'content-security-policy': expect.stringContaining('sandbox'),
          'x-content-type-options': 'nosniff',
          'cross-origin-resource-policy': 'same-site',
        })
        expect(await app.get(`${url}/attachments/7`)).toMatchObject({
          status: 404,
          body: { code: 'provider_not_found' },
        })
        expect(await app.get(`${url}/attachments/x`)).toMatchObject({
          status: 404,
          body: { code: 'provider_not_found' },
        })
      }
      // With `full` the message may be stored twice at the same time. Then the second copy is removed.
      await expect.poll(() => account.files()).toHaveLength(bodyStorage === 'none' ? 0 : 1)
      await world.uids('INBOX')
      expect((await world.witness.command('UID FETCH 1:* (FLAGS)')).untagged.join()).not.toContain('Seen')
    },
  )

  test('serves every message of the corpus byte for byte, from the server and from storage', async () => {
    const server = useIt()
    const user = await server.addUser()
    const filled = await fillMailboxes(server, user, generateMail({ seed: 11, count: 60, brokenShare: 0.5 }))
    await using account = await connect(server, user, { bodyStorage: 'cache', syncWindowDays: null })
    const { accountId } = account
    const messages = await readMessages(app, accountId)
    const digests: string[] = []
    for (const { id } of messages) {
      const url = `/v1/accounts/${accountId}/messages/${id}`
      const { status, body } = await app.get<Message>(url)
      expect(status).toBe(200)
      const stored = await download(`${url}/raw`)
      digests.push(stored.bytes.toString('latin1'))
      for (const attachment of body.attachments) {
        const { answer, bytes } = await download(`${url}/attachments/${attachment.id}`)
        expect(answer.status).toBe(200)
        expect(bytes.length).toBe(attachment.size)
      }
    }
    // A server may write its own line ends. NUL must not be sent (RFC 9051 section 4.3.1), and Dovecot sends 0x80
    // instead.
    const lines = (text: string) => text.replaceAll('\r\n', '\n').replaceAll('\0', '\x80')
    expect(digests.map(lines).toSorted()).toEqual(
      filled.map(({ raw }) => lines(raw.toString('latin1'))).toSorted(),
    )
  })
})

describe('a stored message', () => {
  const useIt = useServer(SERVER_KINDS[0].start)

  test('is read without the provider, belongs to its message, and is deleted with bodyStorage none', async () => {
    const server = useIt()
    const user = await server.addUser()
    await using world = await openWorld(server, user)
    const other = Buffer.from(MIXED.toString().replace('all kinds', 'another').replace('kinds@', 'other@'))
    await world.deliver([{ raw: MIXED }, { raw: other }])
    await using account = await connect(server, user, { bodyStorage: 'cache' })
    const { accountId } = account
    const [one, two] = await readMessages(app, accountId)
    const raw = (id?: string) => download(`/v1/accounts/${accountId}/messages/${id}/raw`)
    const first = await raw(one?.id)

    await app.patch(`/v1/accounts/${accountId}`, { status: 'paused' })
    expect((await raw(one?.id)).bytes.toString()).toBe(first.bytes.toString())
    const refused = await raw(two?.id)
    expect(JSON.parse(refused.bytes.toString())).toMatchObject({ code: 'account_paused', status: 409 })
    await app.patch(`/v1/accounts/${accountId}`, { status: 'active' })
    const second = await raw(two?.id)
    expect(second.bytes.toString()).not.toBe(first.bytes.toString())

    // The two files are swapped: each is under the other's name, and neither opens.
    const ofAccount = sql`account_id = ${accountId}`
    await sql`update message_blob set message_id = null where ${ofAccount}`.execute(app.db)
    const { rows } = await sql<{
      id: string
    }>`select id from message_blob where ${ofAccount} order by id`.execute(app.db)
    const ids = rows.map(({ id }) => id)
    expect(ids).toHaveLength(2)
    await sql`update message_blob set message_id = ${two?.id} where id = ${ids[0]}`.execute(app.db)
    await sql`update message_blob set message_id = ${one?.id} where id = ${ids[1]}`.execute(app.db)
    expect((await raw(one?.id)).bytes.toString()).toBe(first.bytes.toString())
    expect((await raw(two?.id)).bytes.toString()).toBe(second.bytes.toString())
    expect(await account.files()).toHaveLength(4)

    const counted = await sql<{
      bytes: number
    }>`select sum(bytes)::int as bytes from message_blob where message_id is not null and ${ofAccount}`.execute(
      app.db,
    )
    expect(counted.rows[0]?.bytes).toBeGreaterThan(500)
    await app.patch(`/v1/accounts/${accountId}`, { settings: { bodyStorage: 'none' } })
    await sweepBlobs(app.db, openBlobStore(openFolderObjects(blobs.folder)), new AbortController().signal)
    expect(await account.files()).toEqual([])
  })
})
