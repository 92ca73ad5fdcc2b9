import { describe, expect, test } from 'vitest'
import { ProviderFailure } from '../failure.ts'
import { CLOUDS } from '../microsoft/clouds.ts'
import type { OutgoingMessage, OutgoingPart } from '../sending.ts'
import type { GraphApi, GraphRequest } from './api.ts'
import { readAnswer } from './answers.ts'
import { graphFailure } from './failure.ts'
import type { GraphConnection } from './graph-connection.ts'
import { graphSending } from './sending.ts'

const MIB = 1024 * 1024
const ID = '<01a1.nonce@example.com>'

interface PlayedMessage {
  id: string
  isDraft: boolean
  internetMessageId: string
  parentFolderId: string
  attachments: Array<{ name: string; bytes: number }>
}

/** A mailbox of Exchange's, as far as sending asks it. */
class PlayedMailbox {
  readonly messages: PlayedMessage[] = []
  readonly calls: string[] = []
  /** Answers in place of the mailbox, by a piece of the call. */
  readonly faults = new Map<string, { status: number; code?: string; makes?: boolean }>()
  /** Called after each call. */
  onAnswered: ((call: string) => void) | null = null
  now = Date.parse('2026-11-28T12:00:00Z')

  connection(cloud: keyof typeof CLOUDS = 'global', delegate: PlayedMailbox | null = null): GraphConnection {
    const api = this.#api(cloud)
    return { api, delegate: delegate && delegate.#api(cloud) } as unknown as GraphConnection
  }

  #api(cloud: keyof typeof CLOUDS): GraphApi {
    const ask: GraphApi['ask'] = async (request, options = {}) => {
      options.signal?.throwIfAborted()
      await options.beforeEffect?.()
      const answered = this.#answer(request)
      if (!request.accepts.includes(answered.status))
        throw graphFailure(answered, this.now, request.method !== undefined && request.method !== 'GET')
      return { status: answered.status, value: readAnswer(request.schema, answered.content) }
    }
    return {
      cloud: CLOUDS[cloud],
      now: () => this.now,
      ask,
      askAll: requests =>
        Promise.all(
          requests.map(request =>
            ask(request).then(
              ({ value }) => ({ value, failure: null }),
              (failure: ProviderFailure) => ({ value: null, failure }),
            ),
          ),
        ),
      putRange: async (_url, { from, total, bytes }) => {
        this.calls.push(`range ${from}-${from + bytes.length}/${total}`)
        const end = from + bytes.length
        this.messages.at(-1)!.attachments.at(-1)!.bytes = end
        return { status: end === total ? 201 : 200, nextFrom: end === total ? null : end }
      },
    } as Partial<GraphApi> as GraphApi
  }

  #answer({ method = 'GET', path, query = {}, json, body }: GraphRequest<unknown>) {
    const call = `${method} ${path}`
    this.calls.push(call)
    const fault = [...this.faults].find(([piece]) => call.includes(piece))?.[1]
    if (fault) this.faults.delete([...this.faults].find(([, one]) => one === fault)![0])
    if (fault && !fault.makes) return answer(fault.status, { error: { code: fault.code ?? '', message: '' } })
    const answered = this.#handle(method, path, query, json, body?.bytes)
    this.onAnswered?.(call)
    return fault ? answer(fault.status, { error: { code: '', message: '' } }) : answered
  }

  #handle(method: string, path: string, query: object, json: unknown, body: unknown) {
    const [, id, action] = /^messages\/([^/]+)(?:\/(.+))?$/.exec(path) ?? []
    const message = this.messages.find(one => one.id === id)
    if (method === 'POST' && path === 'messages') {
      const mime = Buffer.from(String(body), 'base64').toString()
      const made: PlayedMessage = {
        id: `draft-${this.messages.length}`,
        isDraft: true,
        internetMessageId: /^Message-ID: (.*)\r$/m.exec(mime)![1]!,
        parentFolderId: 'drafts',
        attachments: [],
      }
      this.messages.push(made)
      return answer(201, { ...made, conversationId: 'thread' })
    }
    if (id === undefined) {
      const wanted = JSON.stringify(query)
      const folder = /^mailFolders\/(.*)\/messages$/.exec(path)?.[1]
      const found = this.messages.filter(
        one =>
          (folder === undefined || one.parentFolderId === folder) &&
          (wanted.includes(one.internetMessageId) || wanted.includes('sentDateTime ge')),
      )
      return answer(200, { value: found })
    }
    if (!message) return answer(404, { error: { code: 'ErrorItemNotFound', message: '' } })
    if (action === 'attachments') {
      const { name, contentBytes } = json as { name: string; contentBytes: string }
      message.attachments.push({ name, bytes: Buffer.from(contentBytes, 'base64').length })
      return answer(201, {})
    }
    if (action === 'attachments/createUploadSession') {
      message.attachments.push({
        name: (json as { AttachmentItem: { name: string } }).AttachmentItem.name,
        bytes: 0,
      })
      return answer(201, { uploadUrl: 'https://outlook.office.com/session' })
    }
    if (action === 'send') {
      Object.assign(message, { isDraft: false, parentFolderId: 'sentitems' })
      return answer(202)
    }
    if (action === 'permanentDelete' || method === 'DELETE') {
      this.messages.splice(this.messages.indexOf(message), 1)
      return answer(204)
    }
    return answer(200, message)
  }
}

function answer(status: number, content?: object) {
  return { status, headers: {}, content: Buffer.from(content === undefined ? '' : JSON.stringify(content)) }
}

function partOf(filename: string, byteLength: number): OutgoingPart {
  return {
    filename,
    contentType: 'application/pdf',
    contentId: null,
    isInline: false,
    byteLength,
    async *open() {
      for (let at = 0; at < byteLength; at += 65_536)
        yield Buffer.alloc(Math.min(65_536, byteLength - at), 'x')
    },
  }
}

function outgoing(parts: readonly OutgoingPart[] | null = null, change: Partial<OutgoingMessage> = {}) {
  const text = `From: a@example.com\r\nMessage-ID: ${ID}\r\n\r\nHello\r\n`
  const byteLength = text.length + (parts ?? []).reduce((bytes, part) => bytes + part.byteLength, 0)
  const open = async function* () {
    yield Buffer.from(text)
  }
  const traces: Array<string | null> = []
  const message: OutgoingMessage = {
    envelope: { from: 'a@example.com', to: ['b@example.com', 'c@example.com'] },
    content: {
      byteLength,
      is8Bit: false,
      hasUtf8Header: false,
      open,
      split: async () =>
        parts && {
          rest: { byteLength: text.length, open },
          parts,
          [Symbol.asyncDispose]: async () => {},
        },
    },
    internetMessageId: ID,
    outboxId: '01a1',
    mayBePrepared: false,
    envelopeId: '01a1',
    threadId: null,
    beforeHandOver: async trace => void traces.push(trace),
    signal: new AbortController().signal,
    ...change,
  }
  return { message, traces }
}

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (error: unknown) => error as ProviderFailure,
  )

describe('a send by Graph', () => {
  test('makes a draft, and sends it by its id, which is the trace', async () => {
    const mailbox = new PlayedMailbox()
    const { message, traces } = outgoing()
    const outcome = await graphSending(mailbox.connection()).send(message)
    expect(outcome).toEqual({
      recipients: message.envelope.to.map(address => ({ address, refusal: null })),
      given: { key: 'draft-0', threadId: 'thread' },
    })
    expect(traces).toEqual(['draft-0'])
    expect(mailbox.calls).toEqual(['POST messages', 'POST messages/draft-0/send'])
  })

  test('attaches large files beside the message, larger ones by ranges of 320 KiB', async () => {
    const mailbox = new PlayedMailbox()
    const { message } = outgoing([partOf('a.pdf', 2_999_999), partOf('b.pdf', 9 * MIB + 1)])
    await graphSending(mailbox.connection()).send(message)
    expect(mailbox.messages[0]!.attachments).toEqual([
      { name: 'a.pdf', bytes: 2_999_999 },
      { name: 'b.pdf', bytes: 9 * MIB + 1 },
    ])
    const ranges = mailbox.calls.filter(call => call.startsWith('range'))
    expect(ranges).toEqual([
      'range 0-3932160/9437185',
      'range 3932160-7864320/9437185',
      'range 7864320-9437185/9437185',
    ])
    expect(mailbox.calls.at(-1)).toBe('POST messages/draft-0/send')
  })

  test.each([
    ['cannot be taken apart', 'global', null],
    ['has a file too large for a cloud without upload sessions', 'gcc-high', [partOf('b.pdf', 4 * MIB)]],
  ] as const)('makes nothing of a message that %s', async (_, cloud, parts) => {
    const mailbox = new PlayedMailbox()
    const { message, traces } = outgoing(parts)
    if (!parts) message.content.byteLength = 3 * MIB
    const { recipients } = await graphSending(mailbox.connection(cloud)).send(message)
    expect(recipients.map(({ refusal }) => refusal)).toMatchObject([
      { isTooLarge: true },
      { isTooLarge: true },
    ])
    expect(traces).toEqual([])
    expect(mailbox.calls).toEqual([])
  })

  test('is too large where a mailbox has no upload sessions, and leaves no draft', async () => {
    const mailbox = new PlayedMailbox()
    mailbox.faults.set('createUploadSession', { status: 404 })
    const { recipients } = await graphSending(mailbox.connection()).send(
      outgoing([partOf('b.pdf', 4 * MIB)]).message,
    )
    expect(recipients[0]!.refusal).toMatchObject({ isTooLarge: true, isPermanent: true })
    expect(mailbox.messages).toEqual([])
  })

  test('is too large if Exchange answers 200, and makes nothing', async () => {
    const mailbox = new PlayedMailbox()
    mailbox.faults.set('POST messages', { status: 200 })
    const { recipients } = await graphSending(mailbox.connection()).send(outgoing().message)
    expect(recipients[0]!.refusal).toMatchObject({ isTooLarge: true })
    expect(mailbox.calls).toEqual(['POST messages', 'GET mailFolders/drafts/messages'])
  })

  test('removes the drafts of earlier attempts first', async () => {
    const mailbox = new PlayedMailbox()
    const old = { isDraft: true, internetMessageId: ID, parentFolderId: 'drafts', attachments: [] }
    mailbox.messages.push(
      { ...old, id: 'old' },
      { ...old, id: 'other', internetMessageId: '<o@example.com>' },
    )
    const { traces, message } = outgoing(null, { mayBePrepared: true })
    await graphSending(mailbox.connection()).send(message)
    expect(mailbox.messages.map(({ id, isDraft }) => [id, isDraft])).toEqual([
      ['other', true],
      [traces[0], false],
    ])
  })

  test('is not made twice if an earlier attempt was sent after all', async () => {
    const mailbox = new PlayedMailbox()
    const sent = { isDraft: false, internetMessageId: ID, parentFolderId: 'sentitems', attachments: [] }
    mailbox.messages.push({ ...sent, id: 'sent' })
    const { message, traces } = outgoing(null, { mayBePrepared: true })
    const outcome = await graphSending(mailbox.connection()).send(message)
    expect(outcome.given.key).toBe('sent')
    expect(traces).toEqual([])
    expect(mailbox.messages).toHaveLength(1)
  })

  test('keeps a draft of an earlier attempt that is sent while it is looked for', async () => {
    const mailbox = new PlayedMailbox()
    const old = { id: 'old', isDraft: true, internetMessageId: ID, parentFolderId: 'drafts', attachments: [] }
    mailbox.messages.push(old)
    mailbox.onAnswered = call => {
      if (call === 'GET messages') Object.assign(old, { isDraft: false, parentFolderId: 'sentitems' })
    }
    const { message, traces } = outgoing(null, { mayBePrepared: true })
    const { recipients, given } = await graphSending(mailbox.connection()).send(message)
    expect(recipients.every(({ refusal }) => refusal === null)).toBe(true)
    expect(given.key).toBe('old')
    expect(traces).toEqual([])
    expect(mailbox.messages).toEqual([old])
  })

  test.each([400, 404, 429])('counts as accepted if it was sent in spite of %i', async status => {
    const mailbox = new PlayedMailbox()
    mailbox.faults.set('/send', { status, makes: true })
    const { recipients, given } = await graphSending(mailbox.connection()).send(outgoing().message)
    expect(recipients.every(({ refusal }) => refusal === null)).toBe(true)
    expect(given.key).toBe('draft-0')
    expect(mailbox.messages).toMatchObject([{ id: 'draft-0', isDraft: false }])
  })

  test('is not made again if a person sends the draft before it has its files', async () => {
    const mailbox = new PlayedMailbox()
    mailbox.faults.set('/attachments', { status: 400, makes: true })
    mailbox.onAnswered = call => {
      if (call.endsWith('/attachments')) mailbox.messages[0]!.isDraft = false
    }
    const { message, traces } = outgoing([partOf('a.pdf', 2_500_000)])
    const { given } = await graphSending(mailbox.connection()).send(message)
    expect(given.key).toBe('draft-0')
    expect(traces).toEqual([])
    expect(mailbox.messages).toHaveLength(1)
    expect(mailbox.calls).not.toContain('POST messages/draft-0/send')
  })

  test('leaves no draft if the caller refuses', async () => {
    const mailbox = new PlayedMailbox()
    const change = new Error('not now')
    const { message } = outgoing(null, { beforeHandOver: () => Promise.reject(change) })
    expect(await failureOf(graphSending(mailbox.connection()).send(message))).toBe(change)
    expect(mailbox.messages).toEqual([])
  })

  test.each([
    [200, '', 'is unknown', { isBeforeAcceptance: false }],
    [500, '', 'is unknown', { isBeforeAcceptance: false }],
    [503, 'ErrorServerBusy', 'is unknown', { kind: 'throttled', isBeforeAcceptance: false }],
    [509, '', 'is unknown', { kind: 'throttled', isBeforeAcceptance: false }],
    [501, '', 'is unknown', { isBeforeAcceptance: false }],
    [429, '', 'is tried again', { kind: 'throttled', isBeforeAcceptance: true }],
    [404, '', 'is tried again', { kind: 'unavailable', isBeforeAcceptance: true }],
    [409, '', 'is tried again', { kind: 'unavailable', isBeforeAcceptance: true }],
  ])('answered %i %s %s', async (status, code, _, expected) => {
    const mailbox = new PlayedMailbox()
    mailbox.faults.set('/send', { status, code })
    const failure = await failureOf(graphSending(mailbox.connection()).send(outgoing().message))
    expect(failure).toMatchObject(expected)
    // The look-up needs the draft of an unknown outcome.
    expect(mailbox.messages).toHaveLength(expected.isBeforeAcceptance ? 0 : 1)
  })

  test('is refused for good by other answers', async () => {
    const mailbox = new PlayedMailbox()
    mailbox.faults.set('/send', { status: 400, code: 'ErrorInvalidRecipients' })
    const { recipients } = await graphSending(mailbox.connection()).send(outgoing().message)
    expect(recipients[0]!.refusal).toMatchObject({ of: 'message', isPermanent: true, isTooLarge: false })
    expect(mailbox.messages).toEqual([])
  })

  test('waits after 30 messages in a minute, and that is no attempt', async () => {
    const mailbox = new PlayedMailbox()
    const sending = graphSending(mailbox.connection())
    for (let sent = 0; sent < 30; sent++) await sending.send(outgoing().message)
    mailbox.now += 20_000
    const failure = await failureOf(sending.send(outgoing().message))
    expect(failure).toMatchObject({ kind: 'throttled', isBusy: true, retryAfterSeconds: 40 })
    mailbox.now += 40_000
    await sending.send(outgoing().message)
    expect(mailbox.messages).toHaveLength(31)
  })
})

describe('the look-up of a send by Graph', () => {
  const handed = (mailbox: PlayedMailbox, secondsAgo: number, trace: string | null = 'draft-0') => ({
    internetMessageId: ID,
    outboxId: '01a1',
    trace,
    handedOverAt: new Date(mailbox.now - secondsAgo * 1_000),
  })
  const message = { id: 'draft-0', internetMessageId: ID, attachments: [] }

  test('reads from the draft whether it was sent', async () => {
    const mailbox = new PlayedMailbox()
    const { lookUp } = graphSending(mailbox.connection())
    mailbox.messages.push({ ...message, isDraft: true, parentFolderId: 'drafts' })
    expect(await lookUp(handed(mailbox, 60))).toEqual({ outcome: 'not_known' })
    expect(await lookUp(handed(mailbox, 300))).toEqual({ outcome: 'not_accepted' })
    Object.assign(mailbox.messages[0]!, { isDraft: false, parentFolderId: 'sentitems' })
    expect(await lookUp(handed(mailbox, 5))).toEqual({ outcome: 'accepted', key: 'draft-0' })
  })

  test('finds the copy under another id, and takes no absence for proof', async () => {
    const mailbox = new PlayedMailbox()
    const { lookUp } = graphSending(mailbox.connection())
    expect(await lookUp(handed(mailbox, 3_600))).toEqual({ outcome: 'not_known' })
    mailbox.messages.push({ ...message, id: 'copy', isDraft: false, parentFolderId: 'sentitems' })
    expect(await lookUp(handed(mailbox, 5))).toEqual({ outcome: 'accepted', key: 'copy' })
  })

  test('finds the copy by the field of its send if Exchange gave it another Message-ID', async () => {
    const mailbox = new PlayedMailbox()
    const { lookUp } = graphSending(mailbox.connection())
    const copy = { ...message, id: 'copy', internetMessageId: '<x@example.com>', isDraft: false }
    const field = (value: string) => ({ internetMessageHeaders: [{ name: 'X-Waxwing-Outbox', value }] })
    mailbox.messages.push(
      { ...copy, id: 'other', parentFolderId: 'sentitems', ...field('other') },
      { ...copy, parentFolderId: 'sentitems', ...field('01a1') },
    )
    expect(await lookUp(handed(mailbox, 5))).toEqual({ outcome: 'accepted', key: 'copy' })
  })

  test('finds the copy that Exchange filed in the mailbox of the delegate', async () => {
    const [mailbox, delegate] = [new PlayedMailbox(), new PlayedMailbox()]
    delegate.messages.push({ ...message, isDraft: false, parentFolderId: 'sentitems' })
    const { lookUp } = graphSending(mailbox.connection('global', delegate))
    expect(await lookUp(handed(mailbox, 5))).toEqual({ outcome: 'accepted', key: null })
  })
})
