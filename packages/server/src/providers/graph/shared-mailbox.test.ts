import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { addMessage, removeMessage } from '../../../../sandbox/src/microsoft/mailbox/messages.ts'
import { wellKnownFolder } from '../../../../sandbox/src/microsoft/mailbox/mailbox.ts'
import { type GraphServer, startGraph } from '../../../test/graph/graph-server.ts'
import type { ProviderFailure } from '../failure.ts'

let server: GraphServer
beforeAll(async () => {
  server = await startGraph()
})
afterEach(() => {
  server.intercept = null
})
afterAll(() => server[Symbol.asyncDispose]())

/** A shared mailbox with a message, as its delegate opens it. */
function openShared(inboxId?: string) {
  const { email, mailbox } = server.addUser()
  const inbox = wellKnownFolder(mailbox, 'inbox')
  const raw = Buffer.from('Subject: One\r\n\r\nOne\r\n')
  const message = addMessage(mailbox, { folder: inbox, raw, fields: {} })
  const shared = { inboxId: inboxId ?? inbox.id, delegateId: 'delegate' }
  return {
    ...server.connect(email, { shared }),
    key: message.immutableId,
    remove: () => removeMessage(mailbox, message),
  }
}

const answer = (status: number, code: string) => Response.json({ error: { code } }, { status })

const failureOf = (work: Promise<unknown>): Promise<ProviderFailure> =>
  work.then(
    () => Promise.reject(new Error('it succeeded')),
    (error: ProviderFailure) => error,
  )

describe('a shared mailbox', () => {
  test('reports a message as gone that is gone', async () => {
    const { mail, key, remove } = openShared()
    remove()
    expect((await mail.locate(null, [key])).gone).toEqual([key])
  })

  test.each([
    [404, 'ErrorItemNotFound', 'provider_not_found'],
    [403, 'ErrorAccessDenied', 'provider_forbidden'],
  ])(
    'that answers %d to everything is gone itself, and its messages are not',
    async (status, code, reason) => {
      const { mail, key } = openShared()
      const before = await mail.locate(null, [key])
      expect(before.gone).toEqual([])
      server.intercept = ({ path }) => (path.includes('$batch') ? null : answer(status, code))
      expect(await failureOf(mail.locate(null, [key]))).toMatchObject({ kind: 'mailbox_gone', reason })
      expect(await failureOf(mail.listMailboxes())).toMatchObject({ kind: 'mailbox_gone', reason })
    },
  )

  test.each([
    ['changed something', false, (path: string) => path.includes('/messages/other')],
    ['changed nothing', true, (path: string) => path.includes('/messages/')],
  ])('that is gone after a batch which %s reports that', async (_, isBeforeAcceptance, isForbidden) => {
    const { changing, key } = openShared()
    server.calls.length = 0
    const isChanging = () => server.calls.some(({ method }) => method === 'PATCH')
    server.intercept = ({ path }) =>
      isForbidden(path) || (path.includes('/mailFolders/inbox') && isChanging())
        ? answer(403, 'ErrorAccessDenied')
        : null
    const at = { source: '', cursor: null, keys: [key, 'other'] }
    expect(await failureOf(changing.changeFlags(at, { isRead: true }).next())).toMatchObject({
      kind: 'mailbox_gone',
      isBeforeAcceptance,
    })
  })

  test('forbids one request, if only that one is forbidden', async () => {
    const { content, key } = openShared()
    server.intercept = ({ path }) => (path.includes('/$value') ? answer(403, 'ErrorAccessDenied') : null)
    const range = { part: null, isHeader: false, offset: 0, end: null, size: null }
    const reading = content.open({ source: '', cursor: null, key }, range).next()
    expect((await failureOf(reading)).kind).toBe('forbidden')
  })

  test('is gone once its address leads to another mailbox, before anything of that is read', async () => {
    const { mail } = openShared('another-inbox')
    server.calls.length = 0
    expect(await failureOf(mail.listMailboxes())).toMatchObject({
      kind: 'mailbox_gone',
      reason: 'provider_not_found',
    })
    expect(server.calls.map(({ path }) => path.replace(/.*\/users\/[^/]*\//, ''))).toEqual([
      'mailFolders/inbox?$select=id',
    ])
  })

  test('offers no mailboxes of others, as the mailbox of a user does', () => {
    expect(openShared().sharing).toBeUndefined()
    expect(server.connect(server.addUser().email).sharing).toBeDefined()
  })
})
