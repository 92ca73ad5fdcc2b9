import { readAnswer } from '../../src/providers/http/answers.ts'
import type { GraphApi, GraphRequest } from '../../src/providers/graph/api.ts'
import { graphFailure } from '../../src/providers/graph/failure.ts'
import type { GraphConnection } from '../../src/providers/graph/graph-connection.ts'
import type { ProviderFailure } from '../../src/providers/failure.ts'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import type { OutgoingMessage, OutgoingPart } from '../../src/providers/sending.ts'

export const ID = '<01a1.nonce@example.com>'

interface PlayedMessage {
  id: string
  isDraft: boolean
  internetMessageId: string
  parentFolderId: string
  attachments: Array<{ name: string; bytes: number }>
}

/** A mailbox of Exchange's, as far as sending asks it. */
export class PlayedMailbox {
  readonly messages: PlayedMessage[] = []
  readonly calls: string[] = []
  /** Answers in place of the mailbox, by a piece of the call. */
  readonly faults = new Map<string, { status: number; code?: string; makes?: boolean }>()
  /** Answers to ranges, of which the session takes these bytes, in place of its own. */
  readonly rangeFaults: Array<{ status: number; takes: number } | null> = []
  /** The first byte that the upload session wants; null without a session. */
  wanted: number | null = null
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
      return {
        status: answered.status,
        value: readAnswer('Microsoft Graph', request.schema, answered.content),
      }
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
        const fault = this.rangeFaults.shift()
        const taken = fault ? fault.takes : bytes.length
        if (this.wanted === null) throw graphFailure(answer(404), this.now, true)
        if (this.wanted !== from) throw graphFailure(answer(416), this.now, true)
        const end = from + taken
        this.messages.at(-1)!.attachments.at(-1)!.bytes = end
        this.wanted = end === total ? null : end
        if (fault) throw graphFailure(answer(fault.status), this.now, true)
        return this.wanted
      },
      findNextRange: async () => {
        this.calls.push('session')
        if (this.wanted === null) throw graphFailure(answer(404), this.now)
        return this.wanted
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
      this.wanted = 0
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

export function partOf(filename: string, byteLength: number): OutgoingPart {
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

export function outgoing(
  parts: readonly OutgoingPart[] | null = null,
  change: Partial<OutgoingMessage> = {},
) {
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
    beforePreparing: async () => {},
    envelopeId: '01a1',
    threadId: null,
    beforeHandOver: async trace => void traces.push(trace),
    signal: new AbortController().signal,
    ...change,
  }
  return { message, traces }
}
