import { createHash } from 'node:crypto'
import type { Oddities } from './odd-dav.ts'

export interface StoredFile {
  text: string
  etag: string
  /** Milliseconds since 1970. */
  changedAt: number
}

export const HOME = '/home/ada/'
/** The home of another user. */
const FOREIGN = '/home/eve/'

const CARDDAV = 'urn:ietf:params:xml:ns:carddav'
const CALDAV = 'urn:ietf:params:xml:ns:caldav'

/** The kinds of collections, in the words of their standards. */
const KINDS = {
  people: {
    path: 'people/',
    name: 'People',
    type: `<addressbook xmlns="${CARDDAV}"/>`,
    data: 'address-data',
    of: CARDDAV,
  },
  calendar: {
    path: 'calendar/',
    name: 'Calendar',
    type: `<calendar xmlns="${CALDAV}"/>`,
    data: 'calendar-data',
    of: CALDAV,
  },
} as const
export type CollectionName = keyof typeof KINDS

/** The collection of an odd server, and what its server writes of it. */
export class OddCollection {
  readonly files = new Map<string, StoredFile>()
  readonly #kind: (typeof KINDS)[CollectionName]
  readonly #path: string
  #name: string
  /** Names of files in the order of their changes. */
  readonly #log: string[] = []
  readonly #oddities: () => Oddities

  constructor(name: CollectionName, oddities: () => Oddities) {
    this.#kind = KINDS[name]
    this.#path = `${HOME}${this.#kind.path}`
    this.#name = this.#kind.name
    this.#oddities = oddities
  }

  put(name: string, text: string, now: number): void {
    const etag = createHash('sha1').update(`${this.#log.length} ${text}`).digest('hex').slice(0, 12)
    this.files.set(name, { text, etag, changedAt: now })
    this.#log.push(name)
  }

  remove(name: string): void {
    this.files.delete(name)
    this.#log.push(name)
  }

  etagOf(name: string): string | null {
    const { etags } = this.#oddities()
    const file = this.files.get(name)
    if (!file || etags === 'none') return null
    if (etags === 'seconds') return `"${Math.floor(file.changedAt / 1_000)}"`
    return etags === 'weak' ? `W/"${file.etag}"` : `"${file.etag}"`
  }

  /** Does what a PROPPATCH asks for. The name is stored, and nothing else. */
  patch(body: string): void {
    const name = /<displayname[^>]*>([^<]*)<\/displayname>/.exec(body)?.[1]
    if (name !== undefined) this.#name = name
  }

  /** The responses to a PROPFIND; null if there is no such resource. */
  describe(path: string, depth: string, isStranger: boolean): string | null {
    if (path === '/' || path === '/principals/ada/') return found(path, principalProps(isStranger))
    if (path === HOME) return found(HOME, COLLECTION) + found(this.#path, this.#props())
    if (this.isOwn(path)) return found(this.#path, this.#props()) + (depth === '1' ? this.#listMembers() : '')
    return this.files.has(nameIn(path)) ? this.#member(nameIn(path)) : null
  }

  isOwn(path: string): boolean {
    return path === this.#path || `${path}/` === this.#path
  }

  /** The answer to a sync-collection. */
  listChanges(body: string): { status: number; content: string } {
    const { membersMax = Infinity, tokenStatus } = this.#oddities()
    const token = /<sync-token>(.*?)<\/sync-token>/.exec(body)?.[1] ?? ''
    if (tokenStatus !== undefined && token !== '') return { status: tokenStatus ?? 501, content: '' }
    if (token !== '' && !/^urn:odd:\d+$/.test(token)) return { status: 403, content: '' }
    const from = token === '' ? 0 : Number(token.slice('urn:odd:'.length))
    const until = Math.min(this.#log.length, from + membersMax)
    const members = [...new Set(this.#log.slice(from, until))].map(name => this.#memberOrGone(name))
    const rest = until < this.#log.length ? this.#truncated() : ''
    return { status: 207, content: `${members.join('')}${rest}<sync-token>urn:odd:${until}</sync-token>` }
  }

  /** The responses to a multiget. */
  readMany(body: string): string {
    const names = [...body.matchAll(/<href[^>]*>([^<]*)<\/href>/g)].map(([, href = '']) => nameIn(href))
    const wanted = this.#oddities().multiget === 'forgetful' ? names.slice(1) : names
    return wanted
      .map(name => {
        const text = escapeXml(this.files.get(name)?.text ?? '')
        const { data: element, of } = this.#kind
        const data = `<${element} xmlns="${of}">${text}</${element}>`
        return this.#memberOrGone(name, data)
      })
      .join('')
  }

  /** The responses to a calendar-query, which knows times in UTC. */
  listMatching(body: string): string {
    if (this.#oddities().queries === 'empty') return ''
    const [, from = ''] = /<time-range start="([^"]+)"/.exec(body) ?? []
    const [, property = ''] = /<prop-filter name="([^"]+)"/.exec(body) ?? []
    const matches = ({ text }: StoredFile) =>
      from === ''
        ? new RegExp(`^${property}\\b`, 'm').test(text)
        : (/^DTEND:(.*)$/m.exec(text)?.[1] ?? '') > from
    const names = [...this.files].filter(([, file]) => matches(file)).map(([name]) => name)
    return names.map(name => this.#member(name)).join('')
  }

  #truncated(): string {
    return `<response><href>${this.#path}</href><status>HTTP/1.1 507 Insufficient Storage</status></response>`
  }

  #props(): string {
    const { tokenStatus, lacksCtag } = this.#oddities()
    return [
      `<resourcetype><collection/>${this.#kind.type}</resourcetype>`,
      `<displayname>${escapeXml(this.#name)}</displayname>`,
      tokenStatus === null ? '' : `<sync-token>urn:odd:${this.#log.length}</sync-token>`,
      lacksCtag ? '' : `<getctag xmlns="http://calendarserver.org/ns/">${this.#log.length}</getctag>`,
    ].join('')
  }

  #listMembers(): string {
    const oddities = this.#oddities()
    const { membersMax = Infinity, emptyListings = 0 } = oddities
    if (emptyListings > 0) {
      oddities.emptyListings = emptyListings - 1
      return ''
    }
    const members = [...this.files.keys()].map(name => this.#member(name))
    return members.slice(0, membersMax).join('') + (members.length > membersMax ? this.#truncated() : '')
  }

  #memberOrGone(name: string, data = ''): string {
    if (this.files.has(name)) return this.#member(name, data)
    return `<response><href>${this.#hrefOf(name)}</href><status>HTTP/1.1 404 Not Found</status></response>`
  }

  #member(name: string, data = ''): string {
    const etag = this.etagOf(name)
    return found(this.#hrefOf(name), (etag === null ? '' : `<getetag>${etag}</getetag>`) + data)
  }

  #hrefOf(name: string): string {
    const path = `${this.#path}${encodeURIComponent(name)}`
    const written: Record<NonNullable<Oddities['hrefs']>, string> = {
      absolute: `https://127.0.0.1${path}`,
      encoded: path.replaceAll(/[a-z]/g, letter => `%${letter.charCodeAt(0).toString(16)}`),
      other_host: `http://localhost${path}`,
      other_user: `${FOREIGN}${this.#kind.path}${name}`,
      last_slash: `${path}/`,
    }
    const { hrefs } = this.#oddities()
    return hrefs === undefined ? path : written[hrefs]
  }
}

const COLLECTION = '<resourcetype><collection/></resourcetype>'

function principalProps(isStranger: boolean): string {
  if (isStranger) return '<current-user-principal><unauthenticated/></current-user-principal>'
  return (
    '<current-user-principal><href>/principals/ada/</href></current-user-principal>' +
    `<addressbook-home-set xmlns="${CARDDAV}"><href xmlns="DAV:">${HOME}</href></addressbook-home-set>`
  )
}

/** A response about a resource with these properties. */
export function found(href: string, props: string): string {
  return `<response><href>${href}</href><propstat><prop>${props}</prop><status>HTTP/1.1 200 OK</status></propstat></response>`
}

/** The last segment of a path, decoded. */
export function nameIn(href: string): string {
  const path = href.replace(/\/$/, '')
  return decodeURIComponent(path.slice(path.lastIndexOf('/') + 1))
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
