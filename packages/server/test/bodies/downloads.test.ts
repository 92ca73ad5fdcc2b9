import { describe, expect, test } from 'vitest'
import type { Message } from '@waxwing/contract/mail/messages.ts'
import type { TestApp } from '../open-app.ts'
import { lend, SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import type { ProxiedAccount, ProxiedAccountOptions } from '../sync/proxied-account.ts'
import { askForSync, openProxiedAccount, waitForAnotherPass } from '../sync/proxied-account.ts'
import { connectMailbox, readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { numberFor } from '../soak.ts'

const MEGABYTE = 1024 * 1024

const useIt = useServer(SERVER_KINDS[0].start)

/** A message with one attachment of this many bytes. */
function large(bytes: number, name = 'large') {
  const content = Buffer.alloc(bytes, `${name} content `)
  const head = [
    'From: Ada <ada@a.test>',
    `Subject: ${name}`,
    `Message-ID: <${name}@a.test>`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=cut',
    '',
    '--cut',
    '',
    'See the file.',
    '--cut',
    'Content-Type: application/pdf',
    'Content-Disposition: attachment; filename=large.pdf',
    'Content-Transfer-Encoding: base64',
    '',
  ].join('\r\n')
  const encoded = content.toString('base64').replaceAll(/.{76}/g, '$&\r\n')
  return { content, raw: Buffer.from(`${head}\r\n${encoded}\r\n--cut--\r\n`) }
}

async function openLarge(
  bytes: number,
  storage: string,
  options: ProxiedAccountOptions = {},
): Promise<ProxiedAccount & { url: string; content: Buffer }> {
  const { raw, content } = large(bytes)
  const account = await openProxiedAccount({
    start: () => Promise.resolve(lend(useIt())),
    ...options,
    arrange: world => world.deliver({ raw }),
  })
  const { app, accountId } = account
  await app.patch(`/v1/accounts/${accountId}`, { settings: { bodyStorage: storage } })
  const [summary] = await readMessages(app, accountId)
  return { ...account, content, url: `/v1/accounts/${accountId}/messages/${summary?.id}` }
}

function begin(app: TestApp, url: string, signal?: AbortSignal) {
  return fetch(app.address + url, {
    headers: { authorization: `Bearer ${app.key}` },
    ...(signal ? { signal } : {}),
  })
}

const contentFetches = ({ proxy }: ProxiedAccount) =>
  proxy.stats.lines.filter(line => /^UID FETCH \d+ \(UID BODY\.PEEK\[/.test(line)).length

/** Waits until a pass that began after this call has succeeded: a second one is asked for, and begins after it. */
async function passAgain({ app, proxy, accountId }: ProxiedAccount): Promise<void> {
  const lists = () => proxy.stats.commands.get('LIST') ?? 0
  for (let pass = 0; pass < 2; pass++) {
    const before = lists()
    await askForSync(app, accountId)
    await waitUntil('another pass', () => Promise.resolve(lists() > before))
  }
}

describe('downloads from the server', () => {
  test.each(['none', 'cache'])('are brought in small pieces, with bodyStorage %s', async storage => {
    // As it is sent, it has a third more bytes.
    const account = await openLarge(numberFor({ ci: 9, soak: 36 }) * MEGABYTE, storage)
    await using _ = account
    const { app, url, content } = account
    const { body } = await app.get<Message>(url)
    expect(body).toMatchObject({
      body: { text: 'See the file.' },
      attachments: [{ id: '2', size: content.length }],
    })
    const answer = await begin(app, `${url}/attachments/2`)
    expect(answer.headers.get('content-length')).toBeNull()
    expect(Buffer.from(await answer.arrayBuffer()).equals(content)).toBe(true)
    const asked = account.proxy.stats.lines.filter(line => line.includes('BODY.PEEK['))
    expect(asked.some(line => /BODY\.PEEK\[\](?:\)|$)/.test(line))).toBe(false)
  })

  test('block neither the sync nor other reads, and stop when the caller leaves', async () => {
    const account = await openLarge(24 * MEGABYTE, 'none')
    await using _ = account
    const { app, proxy, url, world } = account
    const leave = new AbortController()
    const answer = await begin(app, `${url}/raw`, leave.signal)
    const reader = answer.body!.getReader()
    await reader.read()
    // The sync has its own connection, and a client that does not read holds none.
    await expect.poll(() => proxy.stats.connections).toBe(2)
    await world.deliver({ raw: large(100, 'small').raw })
    const small = await waitUntil('the small message', async () =>
      (await readMessages(app, account.accountId)).find(({ subject }) => subject === 'small'),
    )
    const read = await app.get<Message>(`/v1/accounts/${account.accountId}/messages/${small.id}`)
    expect(read.body.body.text).toBe('See the file.')
    await expect.poll(() => proxy.stats.connections).toBe(2)
    await passAgain(account)

    leave.abort()
    await reader.read().catch(() => undefined)
    const fetched = contentFetches(account)
    await waitForAnotherPass(proxy)
    expect(contentFetches(account) - fetched).toBeLessThanOrEqual(1)
    expect(fetched).toBeLessThan(60)
  })

  test('of 50 MB from a slow server do not block lists and other messages', async () => {
    const account = await openLarge(36 * MEGABYTE, 'none')
    await using _ = account
    const { app, proxy, url, world, accountId } = account
    await world.deliver({ raw: large(100, 'small').raw })
    const small = await waitUntil('the small message', async () =>
      (await readMessages(app, accountId)).find(({ subject }) => subject === 'small'),
    )
    // Downloading all of it takes more than a minute, so whatever is answered meanwhile did not wait for its end.
    proxy.faults = { bytesPerSecond: 600_000 }
    const leave = new AbortController()
    const answer = await begin(app, `${url}/raw`, leave.signal)
    let received = 0
    const download = (async () => {
      for await (const bytes of answer.body!) received += bytes.length
    })()
    await waitUntil('the first bytes', () => Promise.resolve(received > 0))

    for (let round = 0; round < 3; round++) {
      const before = received
      expect(await readMessages(app, accountId)).toHaveLength(2)
      expect((await app.get(`/v1/accounts/${accountId}/threads`)).status).toBe(200)
      const read = await app.get<Message>(`/v1/accounts/${accountId}/messages/${small.id}`)
      expect(read.body.body.text).toBe('See the file.')
      await waitUntil('more of the download', () => Promise.resolve(received > before))
    }
    await passAgain(account)
    expect(received).toBeLessThan(account.content.length)
    // One connection for the sync, and one for all reads.
    expect(proxy.stats.connectionsMax).toBe(2)

    leave.abort()
    await expect(download).rejects.toThrow()
    const fetched = contentFetches(account)
    await waitForAnotherPass(proxy)
    expect(contentFetches(account) - fetched).toBeLessThanOrEqual(1)
  })

  test('release their connection when the caller has left and others need it', async () => {
    const account = await openLarge(24 * MEGABYTE, 'none', { config: { connectionsPerHost: 1 } })
    await using _ = account
    const { app, proxy, server, url } = account
    const leave = new AbortController()
    const answer = await begin(app, `${url}/raw`, leave.signal)
    await answer.body!.getReader().read()
    leave.abort()
    // The only connection is needed for this account's login and first sync.
    await waitForFirstSync(app, await connectMailbox(app, proxy, await server.addUser()))
  })

  test('that fail midway end the connection, and store nothing', async () => {
    const account = await openLarge(24 * MEGABYTE, 'cache')
    await using _ = account
    const { app, proxy, url } = account
    const answer = await begin(app, `${url}/raw`)
    const reader = answer.body!.getReader()
    await reader.read()
    proxy.faults = {
      refusedCommands: [/^UID FETCH \d+ \(UID BODY\.PEEK\[\]/],
      refusal: 'NO [SERVERBUG] broken',
    }
    await expect(
      (async () => {
        while (!(await reader.read()).done);
      })(),
    ).rejects.toThrow()
    const whole = await app.db
      .selectFrom('message_blob')
      .selectAll()
      .where('message_id', 'is not', null)
      .execute()
    expect(whole).toEqual([])
    expect(await app.get(url)).toMatchObject({ status: 502, body: { code: 'provider_unavailable' } })
    proxy.faults = {}
    expect((await app.get<Message>(url)).body.body.text).toBe('See the file.')
  })

  test('continue when the connection broke while it was idle', async () => {
    const account = await openLarge(1000, 'none')
    await using _ = account
    const { app, proxy, url } = account
    expect((await app.get(url)).status).toBe(200)
    proxy.cutAll()
    expect((await app.get(url)).status).toBe(200)
  })

  test('find a message that arrived after their connection was opened', async () => {
    const account = await openLarge(1000, 'none')
    await using _ = account
    const { app, url, world, accountId } = account
    expect((await app.get(url)).status).toBe(200)
    await world.deliver({ raw: large(100, 'later').raw })
    const later = await waitUntil('the later message', async () =>
      (await readMessages(app, accountId)).find(({ subject }) => subject === 'later'),
    )
    expect((await app.get(`/v1/accounts/${accountId}/messages/${later.id}`)).status).toBe(200)
  })

  test('are refused with the reason why the provider cannot be reached', async () => {
    const account = await openLarge(1000, 'none')
    await using _ = account
    const { app, accountId, url, world } = account
    const missing = `/v1/accounts/${accountId}/messages/${accountId}`
    expect(await app.get(missing)).toMatchObject({ status: 404, body: { code: 'message_not_found' } })
    expect(await app.get(`/v1/accounts/${accountId}/messages/x/raw`)).toMatchObject({
      body: { code: 'message_not_found' },
    })

    await app.patch(`/v1/accounts/${accountId}`, { status: 'paused' })
    for (const path of ['', '/raw', '/attachments/2']) {
      expect(await app.get(url + path)).toMatchObject({ status: 409, body: { code: 'account_paused' } })
    }
    for (const status of ['reauth_required', 'disabled'] as const) {
      await app.db.updateTable('account').set({ status }).execute()
      expect(await app.get(url)).toMatchObject({ status: 409, body: { code: `account_${status}` } })
    }
    await world.expunge('INBOX', await world.uids('INBOX'))
    // The state must not come from the sync, which is stopped.
    await app.db.updateTable('account').set({ status: 'active' }).execute()
    const gone = await Promise.all(['', '/raw', '/attachments/2'].map(path => app.get(url + path)))
    for (const { body } of gone) expect(['provider_not_found', 'message_not_found']).toContain(body['code'])
  })
})
