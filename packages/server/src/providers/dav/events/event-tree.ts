import {
  type Component,
  type ContentFile,
  FileRefused,
  splitFile,
} from '../../../kit/content-lines/content-file.ts'
import { type ContentLine, type Parameter, readLine } from '../../../kit/content-lines/content-line.ts'
import { LineRefused, type WritableLine } from '../../../kit/content-lines/print-line.ts'
import { type LineSource, printFile } from '../../../kit/content-lines/rewrite-file.ts'
import { type EventComponent, UnreadableEvents } from './event-file.ts'
import { UnwritableEvents } from './unwritable.ts'

/* A calendar file as a tree whose properties and components can be changed. Each line that stays keeps its bytes. */

export interface Property {
  type: 'property'
  source: LineSource
  /** Null if the line is malformed. */
  content: ContentLine | null
}

export interface EventNode {
  type: 'component'
  /** In upper case. */
  name: string
  begin: LineSource
  /** Null if the END line is missing. */
  end: LineSource | null
  items: Array<Property | EventNode>
}

export interface EventTree {
  file: ContentFile
  items: Array<Property | EventNode>
}

/** @throws UnreadableEvents if the file exceeds a bound */
export function openTree(bytes: Buffer): EventTree {
  const file = split(bytes)
  const inner = (from: number, to: number, components: readonly Component[]): EventNode['items'] => {
    const items: EventNode['items'] = []
    let next = 0
    for (let at = from; at < to; at++) {
      const component = components[next]
      if (component?.begin !== at) items.push(propertyAt(file, at))
      else {
        // A component without END goes on to the end of the one that it is in.
        const end = component.end ?? to
        items.push(nodeOf(component, end))
        at = component.end ?? to - 1
        next++
      }
    }
    return items
  }
  const nodeOf = (component: Component, end: number): EventNode => ({
    type: 'component',
    name: component.name,
    begin: component.begin,
    end: component.end,
    items: inner(component.begin + 1, end, component.components),
  })
  return { file, items: inner(0, file.lines.length, file.components) }
}

function propertyAt(file: ContentFile, index: number): Property {
  return { type: 'property', source: index, content: file.lines[index]!.content }
}

function split(bytes: Buffer): ContentFile {
  try {
    return splitFile(bytes)
  } catch (error) {
    if (error instanceof FileRefused) throw new UnreadableEvents(error.message, { cause: error })
    throw error
  }
}

/** @throws UnwritableEvents if a line cannot be written, or the file would become too large */
export function printTree({ file, items }: EventTree): Buffer {
  try {
    return printFile(file, sourcesOf(items))
  } catch (error) {
    if (error instanceof LineRefused || error instanceof FileRefused)
      throw new UnwritableEvents(error.message, { cause: error })
    throw error
  }
}

/** The lines of properties and components, in their order. */
export function sourcesOf(items: EventNode['items']): LineSource[] {
  return items.flatMap(item =>
    item.type === 'property'
      ? [item.source]
      : [item.begin, ...sourcesOf(item.items), ...(item.end === null ? [] : [item.end])],
  )
}

/** A copy that can be changed by itself. */
export function copyNode(node: EventNode): EventNode {
  return { ...node, items: node.items.map(item => (item.type === 'property' ? { ...item } : copyNode(item))) }
}

/** The lines of a node as readers take them. */
export function viewOf(node: EventNode): EventComponent {
  const lines = node.items.flatMap(item =>
    item.type === 'property' && item.content ? [{ ...item.content, text: textOf(item.content) }] : [],
  )
  return {
    name: node.name,
    lines,
    named: Map.groupBy(lines, ({ name }) => name),
    components: componentsOf(node).map(viewOf),
  }
}

/** The line as a text. Parameters are kept as bytes. */
function textOf({ rawName, parameters, value }: ContentLine): string {
  const head = [rawName, ...parameters.map(({ raw }) => Buffer.from(raw, 'latin1').toString('utf8'))]
  return `${head.join(';')}:${value}`
}

export function componentsOf({ items }: Pick<EventNode, 'items'>, name?: string): EventNode[] {
  return items
    .filter(item => item.type === 'component')
    .filter(one => name === undefined || one.name === name)
}

/** The properties of a name, in their order. */
export function propertiesOf(
  { items }: EventNode,
  ...names: string[]
): Array<Property & { content: ContentLine }> {
  return items.flatMap(item =>
    item.type === 'property' && item.content && names.includes(item.content.name)
      ? [item as Property & { content: ContentLine }]
      : [],
  )
}

export function newProperty(line: WritableLine): Property {
  return {
    type: 'property',
    source: line,
    content: { ...line, group: null, name: line.rawName.toUpperCase() },
  }
}

/** A property of a line as it is written, without folds. */
export function propertyOf(text: string): Property {
  const line = readLine(Buffer.from(text, 'utf8').toString('latin1'))
  if (!line) throw new UnwritableEvents('A line has no name')
  return newProperty(line)
}

/**
 * Puts properties in the place of others. A property that is in both lists keeps its place, as long as the order is the same.
 * If there were none, the new ones come behind the properties with these names, or behind all.
 */
export function replaceProperties(
  node: EventNode,
  before: readonly Property[],
  after: readonly Property[],
  behind: readonly string[] = [],
): void {
  const [first] = before
  if (!first) {
    if (after.length > 0) node.items.splice(placeBehind(node, behind), 0, ...after)
    return
  }
  // A line that would read the same keeps its bytes.
  const places = new Map<Property, number>(before.map((property, place) => [property, place]))
  const same = new Map(
    before.flatMap(property => (property.content ? [[textOf(property.content), property] as const] : [])),
  )
  const kept = after.map(one =>
    places.has(one) || !one.content ? one : (same.get(textOf(one.content)) ?? one),
  )
  const found = kept.flatMap(one => places.get(one) ?? [])
  const isOrdered = found.every((place, index) => index === 0 || place > found[index - 1]!)
  const staying = new Set(isOrdered ? found.map(place => before[place]!) : [])
  const at = node.items.indexOf(first)
  node.items = node.items.filter(
    (item, index) => index === at || item.type === 'component' || !places.has(item) || staying.has(item),
  )
  let next = at
  for (const property of kept) {
    if (staying.has(property)) next = node.items.indexOf(property) + 1
    else node.items.splice(next++, 0, property)
  }
  if (!staying.has(first)) node.items = node.items.filter(item => item !== first)
}

/** Inner components come last in what others write, and an unclosed one would take what comes behind it. */
function placeBehind({ items }: EventNode, names: readonly string[]): number {
  const found = items.findLastIndex(
    item => item.type === 'property' && names.includes(item.content?.name ?? ''),
  )
  if (found !== -1) return found + 1
  const inner = items.findIndex(item => item.type === 'component')
  return inner === -1 ? items.length : inner
}

const ENCODINGS = ['ENCODING', 'CHARSET']

/** Sets a property with one value. The first one of its name keeps its place and its parameters, and others go. */
export function setValue(
  node: EventNode,
  name: string,
  value: string | null,
  parameters: (before: readonly Parameter[]) => readonly Parameter[] = before => before,
): void {
  const before = propertiesOf(node, name)
  const [first] = before
  if (value === null) return replaceProperties(node, before, [])
  const kept = parameters(first?.content.parameters ?? [])
  if (first?.content.value === value && first.content.parameters === kept)
    return replaceProperties(node, before, [first])
  // New values are written in UTF-8, and need no encoding.
  const line = { rawName: first?.content.rawName ?? name, parameters: without(kept, ...ENCODINGS), value }
  replaceProperties(node, before, [newProperty(line)])
}

/** Parameters without those of some names. The same list if it has none of them. */
export function without(parameters: readonly Parameter[], ...names: string[]): readonly Parameter[] {
  const kept = parameters.filter(({ name }) => !names.includes(name ?? ''))
  return kept.length === parameters.length ? parameters : kept
}
