import sax, { type QualifiedTag, type SAXOptions } from 'sax'
import { EventLoopShare } from '../../kit/event-loop-share.ts'
import { storable } from '../../kit/storable.ts'
import { ProviderFailure } from '../failure.ts'

/** An element of XML with its content. */
export interface XmlElement {
  /** Namespace and local name, as in `names.ts`. */
  name: string
  /** The attributes without a namespace. */
  attributes: Readonly<Record<string, string>>
  text: string
  /** Whether there was more text than is kept. */
  isCut: boolean
  children: XmlElement[]
}

/** The characters of text that one item may have: a card with its photo. */
export const ITEM_CHARACTERS_MAX = 6 * 1024 * 1024
const ITEM_ELEMENTS_MAX = 2_000
const DEPTH_MAX = 32
const ATTRIBUTES_MAX = 128
/** Bytes that are parsed before the event loop may be another's. */
const PIECE_BYTES = 8 * 1024

/** One per process, as there is one event loop. */
const share = new EventLoopShare()

/** Thrown if an answer is not the XML that was asked for. */
export class XmlRefused extends ProviderFailure {
  constructor(reason: string, cause?: unknown) {
    super('unavailable', `The server's answer cannot be read: ${reason}.`, { cause })
  }
}

/**
 * Reads a document as it arrives and yields the children of its root element, all that a piece completed at a time.
 * Throws `XmlRefused` if the root is another than `rootName`, or the document ends too early, has a document type, or
 * is nested too deep.
 */
export async function* readItems(
  content: AsyncIterable<Uint8Array>,
  rootName: string,
): AsyncGenerator<XmlElement[], void, void> {
  const parser = new ItemParser(rootName)
  const decoder = new TextDecoder('utf-8')
  for await (const chunk of content) {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      await share.enter(parser)
      const items = parser.write(decoder.decode(chunk.subarray(at, at + PIECE_BYTES), { stream: true }))
      if (items.length > 0) yield items
    }
  }
  const rest = parser.end(decoder.decode())
  if (rest.length > 0) yield rest
}

/** Yields groups of entries, and lets others have the event loop between them. */
export async function* inPieces<T>(entries: Iterable<T>, count: number): AsyncGenerator<T[], void, void> {
  const holder = {}
  let piece: T[] = []
  for (const entry of entries) {
    if (piece.push(entry) < count) continue
    yield piece
    piece = []
    await share.enter(holder)
  }
  if (piece.length > 0) yield piece
}

/** Entities are the five of XML. Their types lack the last option. */
const OPTIONS: SAXOptions & { strictEntities: boolean } = {
  xmlns: true,
  position: false,
  strictEntities: true,
}

class ItemParser {
  readonly #sax = sax.parser(true, OPTIONS)
  readonly #rootName: string
  /** The elements that are open, the root left out. */
  readonly #open: XmlElement[] = []
  #done: XmlElement[] = []
  #isInRoot = false
  #isOver = false
  #elements = 0
  #characters = 0

  constructor(rootName: string) {
    this.#rootName = rootName
    Object.assign(this.#sax, {
      onopentag: (tag: QualifiedTag) => this.#openTag(tag),
      onclosetag: () => this.#closeTag(),
      ontext: (text: string) => this.#addText(text),
      oncdata: (text: string) => this.#addText(text),
      ondoctype: () => refuseXml('it has a document type'),
      onsgmldeclaration: () => refuseXml('it has a declaration'),
      onerror(error: Error) {
        throw new XmlRefused('it is not XML', error)
      },
    })
  }

  write(text: string): XmlElement[] {
    this.#sax.write(text)
    // A tag is handled only when it ends.
    const { attribList, doctype } = this.#sax as unknown as { attribList?: unknown[]; doctype?: unknown }
    if ((attribList?.length ?? 0) > ATTRIBUTES_MAX) refuseXml('a tag has too many attributes')
    if (typeof doctype === 'string' && doctype !== '') refuseXml('it has a document type')
    const done = this.#done
    this.#done = []
    return done
  }

  end(text: string): XmlElement[] {
    const done = this.write(text)
    this.#sax.close()
    if (!this.#isOver) refuseXml('it ends too early')
    return done
  }

  #openTag({ uri, local, attributes }: QualifiedTag): void {
    const name = `${uri} ${local}`
    if (!this.#isInRoot) {
      if (name !== this.#rootName || this.#isOver) refuseXml('it is another document')
      this.#isInRoot = true
      return
    }
    if (this.#open.length === DEPTH_MAX) refuseXml('it is nested too deep')
    if (this.#open.length === 0) [this.#elements, this.#characters] = [0, 0]
    if (++this.#elements > ITEM_ELEMENTS_MAX) refuseXml('it has too many elements')
    const element = { name, attributes: plainOf(attributes), text: '', isCut: false, children: [] }
    this.#open.at(-1)?.children.push(element)
    this.#open.push(element)
  }

  #closeTag(): void {
    const element = this.#open.pop()
    if (!element) {
      this.#isInRoot = false
      this.#isOver = true
    } else if (this.#open.length === 0) this.#done.push(element)
  }

  #addText(text: string): void {
    const element = this.#open.at(-1)
    if (!element || element.isCut) return
    this.#characters += text.length
    if (this.#characters > ITEM_CHARACTERS_MAX) {
      element.isCut = true
      element.text = ''
    } else element.text += storable(text)
  }
}

function plainOf(attributes: QualifiedTag['attributes']): Readonly<Record<string, string>> {
  const plain = Object.values(attributes).filter(({ prefix, name }) => prefix === '' && name !== 'xmlns')
  return Object.fromEntries(plain.map(({ local, value }) => [local, value]))
}

function refuseXml(reason: string): never {
  throw new XmlRefused(reason)
}
