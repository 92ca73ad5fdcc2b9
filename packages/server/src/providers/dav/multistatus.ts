import { D } from './names.ts'
import { readItems, type XmlElement } from './xml-stream.ts'

/** One `response` of a multistatus (RFC 4918 section 14.24). */
export interface DavResponse {
  /** As the server wrote them; usually one. */
  hrefs: readonly string[]
  /** The status of the resource itself; null if only its properties have some. */
  status: number | null
  /** The properties that were found, by name. */
  props: ReadonlyMap<string, XmlElement>
}

/** An answer with the responses that are still to come. */
export interface Multistatus {
  responses: AsyncIterable<readonly DavResponse[]>
  /** The new token of a sync-collection, as far as it has been read. */
  syncToken: string | null
}

/**
 * Reads a multistatus as it arrives. Throws `XmlRefused` for anything else.
 * @param responsesMax more are refused
 */
export function readMultistatus(content: AsyncIterable<Uint8Array>): Multistatus {
  const read: Multistatus = { responses: responsesOf(), syncToken: null }
  async function* responsesOf(): AsyncGenerator<DavResponse[], void, void> {
    for await (const items of readItems(content, D.multistatus)) {
      const responses = []
      for (const item of items) {
        if (item.name === D.response) responses.push(responseOf(item))
        else if (item.name === D.syncToken) read.syncToken = item.text.trim() || null
      }
      if (responses.length > 0) yield responses
    }
  }
  return read
}

function responseOf({ children }: XmlElement): DavResponse {
  const props = new Map<string, XmlElement>()
  for (const propstat of children.filter(({ name }) => name === D.propstat)) {
    const status = statusIn(propstat)
    // Some servers leave out the status of what they found.
    if (status !== null && (status < 200 || status > 299)) continue
    for (const prop of propstat.children.filter(({ name }) => name === D.prop))
      for (const found of prop.children) props.set(found.name, found)
  }
  return { hrefs: textsOf(children, D.href), status: statusIn({ children }), props }
}

function statusIn({ children }: Pick<XmlElement, 'children'>): number | null {
  const line = children.find(({ name }) => name === D.status)?.text.trim() ?? ''
  const code = /^HTTP\/[\d.]+ +(\d{3})\b/.exec(line)?.[1]
  return code === undefined ? null : Number(code)
}

/** The texts of all elements of this name. */
export function textsOf(elements: readonly XmlElement[], wanted: string): string[] {
  return elements.filter(({ name }) => name === wanted).map(({ text }) => text.trim())
}

/** The text of a property; null if it is absent or empty. */
export function propText({ props }: DavResponse, name: string): string | null {
  return props.get(name)?.text.trim() || null
}

/** The first href within a property; null if there is none. */
export function propHref({ props }: DavResponse, name: string): string | null {
  return textsOf(props.get(name)?.children ?? [], D.href)[0] || null
}

/** Whether a property contains an element of this name. */
export function hasElement({ props }: DavResponse, name: string, wanted: string): boolean {
  return props.get(name)?.children.some(child => child.name === wanted) ?? false
}
