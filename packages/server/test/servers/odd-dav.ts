import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CollectionName, HOME, nameIn, OddCollection, type StoredFile } from './odd-dav-collection.ts'
import { OddLogin, type OfferedDigest } from './odd-dav-login.ts'

/** Ways in which servers differ from the standards, or mean harm. All are off by default. */
export interface Oddities {
  /** Offers Digest only. */
  digest?: OfferedDigest
  /** Lets strangers look, and shows them no principal. */
  showsStrangers?: boolean
  /** Refuses tokens with this status. Null: has none. */
  tokenStatus?: number | null
  /** Has no tags of address books. */
  lacksCtag?: boolean
  /** Form of the ETags; `seconds` are the time of the last change. */
  etags?: 'weak' | 'seconds' | 'none'
  /** Stores each card in a form of its own, and returns no ETag. */
  rewrites?: boolean
  /** Form of the hrefs of members. */
  hrefs?: 'absolute' | 'encoded' | 'other_host' | 'other_user' | 'last_slash'
  /** Members in one answer; the rest is reported with 507. */
  membersMax?: number
  /** Number of listings that are empty from now on. */
  emptyListings?: number
  /** Has no multiget, or one that leaves out the first card. */
  multiget?: 'missing' | 'forgetful'
  /** Has no calendar-query, or one that finds nothing. */
  queries?: 'missing' | 'empty'
  /** Answers requests in place of the server if it returns true. */
  answers?: (request: IncomingMessage, response: ServerResponse) => boolean
}

/** A DAV server on loopback with one user and one collection, which is as odd as it is told to be. */
export class OddDav implements AsyncDisposable {
  readonly login = new OddLogin()
  oddities: Oddities
  /** Methods and paths of the requests that were let in. */
  readonly requests: string[] = []
  /** Bodies of the requests that the server itself has answered. */
  readonly bodies: string[] = []
  /** The `Authorization` of each request; empty if there was none. */
  readonly authorizations: string[] = []
  /** Called before each change is looked at, to let another client be faster. */
  overtake: (() => void) | null = null
  /** Milliseconds since 1970. */
  now = Date.UTC(2026, 0, 1)
  /** Number of connections that are open. */
  open = 0
  readonly #collection: OddCollection
  readonly #server = createServer((request, response) => void this.#serve(request, response))

  constructor(oddities: Oddities, name: CollectionName) {
    this.oddities = oddities
    this.#collection = new OddCollection(name, () => this.oddities)
    this.#server.on('connection', socket => {
      this.open += 1
      socket.once('close', () => (this.open -= 1))
    })
  }

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }

  get url(): URL {
    // A server that has been bound to a TCP port has an AddressInfo.
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`)
  }

  get home(): URL {
    return new URL(HOME, this.url)
  }

  /** Files by their names. */
  get files(): ReadonlyMap<string, StoredFile> {
    return this.#collection.files
  }

  put(name: string, file: string): void {
    this.#collection.put(name, file, this.now)
  }

  remove(name: string): void {
    this.#collection.remove(name)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { digest, showsStrangers, answers } = this.oddities
    this.authorizations.push(request.headers.authorization ?? '')
    const isUser = this.login.check(request, digest)
    const isStranger = showsStrangers === true && request.headers.authorization === undefined
    if (!isUser && !isStranger) return this.login.challenge(response, digest)
    const path = decodeURI(request.url ?? '')
    this.requests.push(`${request.method} ${path}`)
    if (answers?.(request, response)) return
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString()
    this.bodies.push(body)
    if (request.method === 'PUT' || request.method === 'DELETE') return this.#write(request, response, body)
    if (request.method === 'GET') return this.#read(response, nameIn(path))
    if (!request.headers['content-type']?.startsWith('application/xml')) return end(response, 415)
    if (request.method === 'REPORT') return this.#report(response, path, body)
    if (request.method === 'PROPPATCH') this.#collection.patch(body)
    const described = this.#collection.describe(path, String(request.headers['depth']), isStranger)
    return described === null ? end(response, 404) : sendMultistatus(response, described)
  }

  #read(response: ServerResponse, name: string): void {
    const file = this.files.get(name)
    if (!file) return end(response, 404)
    const etag = this.#collection.etagOf(name)
    response.writeHead(200, { 'content-type': 'text/vcard', ...(etag !== null && { etag }) }).end(file.text)
  }

  #report(response: ServerResponse, path: string, body: string): void {
    if (!this.#collection.isOwn(path)) return end(response, 404)
    if (body.includes('<sync-collection')) {
      const { status, content } = this.#collection.listChanges(body)
      return status === 207 ? sendMultistatus(response, content) : end(response, status)
    }
    if (body.includes('<calendar-query')) {
      if (this.oddities.queries === 'missing') return end(response, 501)
      return sendMultistatus(response, this.#collection.listMatching(body))
    }
    if (this.oddities.multiget === 'missing') return end(response, 501)
    sendMultistatus(response, this.#collection.readMany(body))
  }

  #write({ headers, method, url = '' }: IncomingMessage, response: ServerResponse, body: string): void {
    const name = nameIn(url)
    this.overtake?.()
    const exists = this.files.has(name)
    const expected = headers['if-match']
    if (headers['if-none-match'] === '*' && exists) return end(response, 412)
    if (expected !== undefined && this.#collection.etagOf(name) !== expected) return end(response, 412)
    if (method === 'DELETE') {
      this.remove(name)
      return end(response, exists ? 204 : 404)
    }
    const { rewrites } = this.oddities
    this.put(name, rewrites ? body.replace('END:VCARD', 'X-REWRITTEN:yes\r\nEND:VCARD') : body)
    const etag = rewrites ? null : this.#collection.etagOf(name)
    response.writeHead(exists ? 204 : 201, etag === null ? {} : { etag }).end()
  }
}

export function startOddDav(oddities: Oddities = {}, name: CollectionName = 'people'): Promise<OddDav> {
  return new OddDav(oddities, name).listen()
}

export function sendMultistatus(response: ServerResponse, content: string): void {
  response.writeHead(207, { 'content-type': 'application/xml; charset=utf-8' })
  response.end(`<?xml version="1.0"?><multistatus xmlns="DAV:">${content}</multistatus>`)
}

function end(response: ServerResponse, status: number): void {
  response.writeHead(status).end()
}
