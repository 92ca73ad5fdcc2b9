import { createHash } from 'node:crypto'
import type { Oddities } from './odd-dav.ts'

export interface StoredCard {
  text: string
  etag: string
  /** Milliseconds since 1970. */
  changedAt: number
}

export const HOME = '/home/ada/'
const BOOK = `${HOME}people/`
/** The collection of another user. */
const FOREIGN = '/home/eve/people/'

/** The address book of an odd server, and what its server writes of it. */
export class OddBook {
  readonly cards = new Map<string, StoredCard>()
  /** Names of cards in the order of their changes. */
  readonly #log: string[] = []
  readonly #oddities: () => Oddities

  constructor(oddities: () => Oddities) {
    this.#oddities = oddities
  }

  put(name: string, text: string, now: number): void {
    const etag = createHash('sha1').update(`${this.#log.length} ${text}`).digest('hex').slice(0, 12)
    this.cards.set(name, { text, etag, changedAt: now })
    this.#log.push(name)
  }

  remove(name: string): void {
    this.cards.delete(name)
    this.#log.push(name)
  }

  etagOf(name: string): string | null {
    const { etags } = this.#oddities()
    const card = this.cards.get(name)
    if (!card || etags === 'none') return null
    if (etags === 'seconds') return `"${Math.floor(card.changedAt / 1_000)}"`
    return etags === 'weak' ? `W/"${card.etag}"` : `"${card.etag}"`
  }

  /** The responses to a PROPFIND; null if there is no such resource. */
  describe(path: string, depth: string, isStranger: boolean): string | null {
    if (path === '/' || path === '/principals/ada/') return found(path, principalProps(isStranger))
    if (path === HOME) return found(HOME, COLLECTION) + found(BOOK, this.#props())
    if (this.isBook(path)) return found(BOOK, this.#props()) + (depth === '1' ? this.#listMembers() : '')
    return this.cards.has(nameIn(path)) ? this.#member(nameIn(path)) : null
  }

  isBook(path: string): boolean {
    return path === BOOK || `${path}/` === BOOK
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
    const rest = until < this.#log.length ? TRUNCATED : ''
    return { status: 207, content: `${members.join('')}${rest}<sync-token>urn:odd:${until}</sync-token>` }
  }

  /** The responses to a multiget. */
  readMany(body: string): string {
    const names = [...body.matchAll(/<href[^>]*>([^<]*)<\/href>/g)].map(([, href = '']) => nameIn(href))
    const wanted = this.#oddities().multiget === 'forgetful' ? names.slice(1) : names
    return wanted
      .map(name => {
        const text = escapeXml(this.cards.get(name)?.text ?? '')
        const data = `<address-data xmlns="urn:ietf:params:xml:ns:carddav">${text}</address-data>`
        return this.#memberOrGone(name, data)
      })
      .join('')
  }

  #props(): string {
    const { tokenStatus, lacksCtag } = this.#oddities()
    return [
      '<resourcetype><collection/><addressbook xmlns="urn:ietf:params:xml:ns:carddav"/></resourcetype>',
      '<displayname>People</displayname>',
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
    const members = [...this.cards.keys()].map(name => this.#member(name))
    return members.slice(0, membersMax).join('') + (members.length > membersMax ? TRUNCATED : '')
  }

  #memberOrGone(name: string, data = ''): string {
    if (this.cards.has(name)) return this.#member(name, data)
    return `<response><href>${this.#hrefOf(name)}</href><status>HTTP/1.1 404 Not Found</status></response>`
  }

  #member(name: string, data = ''): string {
    const etag = this.etagOf(name)
    return found(this.#hrefOf(name), (etag === null ? '' : `<getetag>${etag}</getetag>`) + data)
  }

  #hrefOf(name: string): string {
    const path = `${BOOK}${encodeURIComponent(name)}`
    const written: Record<NonNullable<Oddities['hrefs']>, string> = {
      absolute: `https://127.0.0.1${path}`,
      encoded: path.replaceAll(/[a-z]/g, letter => `%${letter.charCodeAt(0).toString(16)}`),
      other_host: `http://localhost${path}`,
      other_user: `${FOREIGN}${name}`,
      last_slash: `${path}/`,
    }
    const { hrefs } = this.#oddities()
    return hrefs === undefined ? path : written[hrefs]
  }
}

const COLLECTION = '<resourcetype><collection/></resourcetype>'
const TRUNCATED = `<response><href>${BOOK}</href><status>HTTP/1.1 507 Insufficient Storage</status></response>`

function principalProps(isStranger: boolean): string {
  if (isStranger) return '<current-user-principal><unauthenticated/></current-user-principal>'
  return (
    '<current-user-principal><href>/principals/ada/</href></current-user-principal>' +
    `<addressbook-home-set xmlns="urn:ietf:params:xml:ns:carddav"><href xmlns="DAV:">${HOME}</href></addressbook-home-set>`
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
