import { readChallenges } from '../../src/providers/dav/challenges.ts'
import { chooseDigest, digestAuthorization } from '../../src/providers/dav/digest.ts'
import type { DavTestServer, DavTestUser } from './dav-test-server.ts'

/** Another client of a DAV server, which sends what it is told to. */
export interface DavTestClient {
  request(method: string, path: string, options?: RequestOptions): Promise<Response>
  /** Makes an address book, and returns its path with a last slash. */
  makeBook(name: string, displayName?: string): Promise<string>
  /** Makes a calendar for these components, or for all, and returns its path with a last slash. */
  makeCalendar(name: string, given?: { props?: string; components?: readonly string[] }): Promise<string>
  /** Sets properties of a collection, which are given as XML with the prefixes D and C. */
  setProps(path: string, props: string): Promise<void>
  /** Stores a card or an event, whatever was there before. */
  put(path: string, file: string): Promise<void>
  get(path: string): Promise<string>
  remove(path: string): Promise<void>
  /** Moves a file to another path, which has none. */
  move(path: string, to: string): Promise<void>
}

interface RequestOptions {
  headers?: Record<string, string>
  body?: string
}

export function davTestClient({ url }: Pick<DavTestServer, 'url'>, user: DavTestUser): DavTestClient {
  const basic = `Basic ${Buffer.from(`${user.user}:${user.password}`).toString('base64')}`

  async function request(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const target = new URL(path, url)
    const send = (authorization: string) =>
      fetch(target, {
        method,
        // A server may close an idle connection just when it is used again.
        headers: {
          'content-type': 'application/xml',
          connection: 'close',
          ...options.headers,
          authorization,
        },
        ...(options.body !== undefined && { body: options.body }),
      })
    const answer = await send(basic)
    const challenge = chooseDigest(readChallenges(answer.headers.get('www-authenticate') ?? undefined))
    if (answer.status !== 401 || !challenge) return answer
    await answer.arrayBuffer()
    return send(digestAuthorization(challenge, { ...user, method, uri: target.pathname, count: 1 }))
  }

  async function requireDone(method: string, path: string, options?: RequestOptions): Promise<string> {
    const answer = await request(method, path, options)
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text
  }

  return {
    request,
    async makeBook(name, displayName = name) {
      const path = `${user.homePath}${encodeURIComponent(name)}/`
      await requireDone('MKCOL', path, { body: mkcolBody(displayName) })
      return path
    },
    async makeCalendar(name, { props = '', components = ['VEVENT'] } = {}) {
      const path = `${user.calendarHomePath}${encodeURIComponent(name)}/`
      await requireDone('MKCALENDAR', path, { body: mkcalendarBody(props, components) })
      return path
    },
    async setProps(path, props) {
      const body = `<D:propertyupdate xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:set><D:prop>${props}</D:prop></D:set></D:propertyupdate>`
      await requireDone('PROPPATCH', path, { body })
    },
    async put(path, file) {
      const type = file.startsWith('BEGIN:VCALENDAR') ? 'text/calendar' : 'text/vcard'
      await requireDone('PUT', path, { headers: { 'content-type': `${type}; charset=utf-8` }, body: file })
    },
    get: path => requireDone('GET', path),
    async remove(path) {
      await requireDone('DELETE', path)
    },
    async move(path, to) {
      await requireDone('MOVE', path, { headers: { destination: new URL(to, url).href } })
    },
  }
}

/** RFC 5689. */
function mkcolBody(displayName: string): string {
  return `<?xml version="1.0" encoding="utf-8"?>
<D:mkcol xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:carddav"><D:set><D:prop>
<D:resourcetype><D:collection/><C:addressbook/></D:resourcetype>
<D:displayname>${displayName}</D:displayname>
</D:prop></D:set></D:mkcol>`
}

/** RFC 4791 section 5.3.1. */
function mkcalendarBody(props: string, components: readonly string[]): string {
  const set = components.map(name => `<C:comp name="${name}"/>`).join('')
  return `<?xml version="1.0" encoding="utf-8"?>
<C:mkcalendar xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:set><D:prop>
<C:supported-calendar-component-set>${set}</C:supported-calendar-component-set>${props}
</D:prop></D:set></C:mkcalendar>`
}
