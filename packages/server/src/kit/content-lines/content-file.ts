import { type ContentLine, readLine } from './content-line.ts'
import { joinLines, type LogicalLine, PHYSICAL_LINES_MAX } from './logical-lines.ts'

/* A file of components and content lines (RFC 5545, RFC 6350), taken apart so that it can be changed line by line. */

/** Larger files are refused. */
export const FILE_BYTES_MAX = 5 * 1024 * 1024
const COMPONENTS_MAX = 10_000
const DEPTH_MAX = 20

export interface FileLine extends LogicalLine {
  /** Null if the line is blank or malformed. */
  content: ContentLine | null
}

/** A part of a file between a BEGIN line and its END line. Lines are named by their index in the file. */
export interface Component {
  /** In upper case. */
  name: string
  begin: number
  /** Null if its END line is missing. */
  end: number | null
  /** Its own lines, without BEGIN, END and the lines of inner components. */
  lines: number[]
  components: Component[]
}

export interface ContentFile {
  bytes: Buffer
  lines: readonly FileLine[]
  /** The outermost components. */
  components: readonly Component[]
}

/** A file that exceeds a bound. */
export class FileRefused extends Error {
  constructor(bound: string) {
    super(`The file has more than ${bound}`)
    this.name = 'FileRefused'
  }
}

/**
 * Takes a file apart, in linear time. Never fails because of a malformed line: it stays in its place as bytes.
 * @throws FileRefused if the file exceeds a bound
 */
export function splitFile(bytes: Buffer): ContentFile {
  if (bytes.length > FILE_BYTES_MAX) throw new FileRefused(`${FILE_BYTES_MAX} bytes`)
  const joined = joinLines(bytes.toString('latin1'))
  if (!joined) throw new FileRefused(`${PHYSICAL_LINES_MAX} lines`)
  const lines = joined.map(line => ({ ...line, content: readLine(line.raw) }))
  return { bytes, lines, components: nest(lines) }
}

function nest(lines: readonly FileLine[]): Component[] {
  const top: Component[] = []
  const open: Component[] = []
  let count = 0
  for (const [index, { content }] of lines.entries()) {
    if (content?.name === 'BEGIN') {
      if (++count > COMPONENTS_MAX) throw new FileRefused(`${COMPONENTS_MAX} components`)
      if (open.length === DEPTH_MAX) throw new FileRefused(`${DEPTH_MAX} components in each other`)
      const component = { name: nameOf(content), begin: index, end: null, lines: [], components: [] }
      ;(open.at(-1)?.components ?? top).push(component)
      open.push(component)
      continue
    }
    // An END that ends nothing is a line like any other. Components within the one that it ends have lost theirs.
    const ended = content?.name === 'END' ? open.findLastIndex(({ name }) => name === nameOf(content)) : -1
    if (ended === -1) open.at(-1)?.lines.push(index)
    else open.splice(ended)[0]!.end = index
  }
  return top
}

const nameOf = ({ value }: ContentLine): string => value.trim().toUpperCase()
