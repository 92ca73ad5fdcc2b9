/** @module-tag postgres-16-in-soak */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { SearchAnswer } from '@waxwing/contract/mail/search.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { makeTaskDue } from '../make-task-due.ts'
import type { TestApp } from '../open-app.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { openWorld } from '../servers/world.ts'
import { connectMailbox, openSyncApp, readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'

const FILLER = '<p>All is as it always was, and nothing more is to be said of it here.</p>\n'.repeat(2000)

function htmlMessage(subject: string, deep: string): Buffer {
  return Buffer.from(
    [
      'From: Ada <ada@a.test>',
      `Subject: ${subject}`,
      `Message-ID: <${subject}@a.test>`,
      'MIME-Version: 1.0',
      'Content-Type: multipart/alternative; boundary=alt',
      '',
      '--alt',
      'Content-Type: text/plain',
      '',
      'This message is best read in a browser.',
      '--alt',
      'Content-Type: text/html; charset=utf-8',
      'Content-Transfer-Encoding: base64',
      '',
      Buffer.from(`<html><head><title>hiddenword</title></head><body>${FILLER}<b>${deep}</b></body>`)
        .toString('base64')
        .replaceAll(/.{76}/g, '$&\r\n'),
      '--alt--',
      '',
    ].join('\r\n'),
  )
}

async function openBlobFolder() {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-search-'))
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

function searcher(app: TestApp, accountId: string) {
  return async (q: string) => {
    const query = new URLSearchParams({ q, source: 'index' })
    const { status, body } = await app.get<SearchAnswer>(`/v1/accounts/${accountId}/search/messages?${query}`)
    expect(status).toBe(200)
    return body.items.map(({ subject }) => subject).toSorted()
  }
}

describe('words of stored bodies', () => {
  const useIt = useServer(SERVER_KINDS[0].start)

  test('are found deep in the HTML of every mailbox with bodyStorage full', async () => {
    const server = useIt()
    const user = await server.addUser()
    await using world = await openWorld(server, user)
    await world.createMailbox('Projects/2026')
    const url = 'https://tracker.test/issues?id=4711&view=full'
    await world.deliver([
      { raw: htmlMessage('one', `quokka &uuml;ber &Scaron;kodovka ${url} 会议记录`) },
      { raw: htmlMessage('three', 'nothing') },
    ])
    await world.deliver({ raw: htmlMessage('two', 'quokka: <i>re</i>mote') }, 'Projects/2026')
    await using blobs = await openBlobFolder()
    await using app = await openSyncApp({ config: { blobDir: blobs.folder }, roles: ['api', 'sync', 'jobs'] })
    const accountId = await connectMailbox(app, server, user, { bodyStorage: 'full', syncWindowDays: null })
    await waitForFirstSync(app, accountId)
    const find = searcher(app, accountId)
    await waitUntil('the bodies', async () => (await find('quokka')).length === 2)

    expect(await find('quokka')).toEqual(['one', 'two'])
    expect(await find('quokka -remote')).toEqual(['one'])
    expect(await find('"quokka: remote"')).toEqual(['two'])
    expect(await find('Škodovka')).toEqual(['one'])
    expect(await find(`"${url}"`)).toEqual(['one'])
    expect(await find(`uber ${url}`)).toEqual(['one'])
    expect(await find('会议')).toEqual(['one'])
    expect(await find('hiddenword')).toEqual([])
    expect(await find('ada@a.test quokka')).toEqual(['one', 'two'])
    await waitUntil('the last body', async () => (await find('"always was"')).length === 3)
  })

  test('are found after a message was read, and no longer with bodyStorage none', async () => {
    const server = useIt()
    const user = await server.addUser()
    await using world = await openWorld(server, user)
    await world.deliver([{ raw: htmlMessage('one', 'quokka') }, { raw: htmlMessage('two', 'quokka') }])
    await using blobs = await openBlobFolder()
    await using app = await openSyncApp({
      config: { blobDir: blobs.folder },
      roles: ['api', 'sync', 'jobs'],
    })
    const accountId = await connectMailbox(app, server, user, { bodyStorage: 'cache' })
    await waitForFirstSync(app, accountId)
    const find = searcher(app, accountId)
    expect(await find('quokka')).toEqual([])
    expect(await find('browser')).toEqual(['one', 'two'])

    const messages = await readMessages(app, accountId)
    const one = messages.find(({ subject }) => subject === 'one')
    expect((await app.get(`/v1/accounts/${accountId}/messages/${one?.id}`)).status).toBe(200)
    await waitUntil('the body that was read', async () => (await find('quokka')).join() === 'one')
    expect(await find('browser')).toEqual(['one', 'two'])
    expect(await find('one ada')).toEqual(['one'])

    // Simulates a process that died between storing and indexing, and that nobody has followed yet.
    await app.patch(`/v1/accounts/${accountId}`, { status: 'paused' })
    await waitUntil('nobody to own the account', async () => {
      const { rows } = await sql`select from account where owner_instance is not null`.execute(app.db)
      return rows.length === 0
    })
    await sql`update message_blob set is_indexed = false`.execute(app.db)
    await sql`
      update message_search set document = ts_filter(document, '{a,b,c}')
      where message_id in (select message_id from message_blob)
    `.execute(app.db)
    expect(await find('quokka')).toEqual([])
    // The next owner looks for what the last one has left.
    await app.patch(`/v1/accounts/${accountId}`, { status: 'active' })
    await waitUntil('the body that was left', async () => (await find('quokka')).join() === 'one')

    await app.patch(`/v1/accounts/${accountId}`, { settings: { bodyStorage: 'none' } })
    await makeTaskDue(app.database.pool, 'sweep_blobs')
    await waitUntil('the sweep', async () => (await find('quokka')).length === 0)
    expect(await find('browser')).toEqual(['one', 'two'])
    expect(await find('one ada')).toEqual(['one'])
  })
})
