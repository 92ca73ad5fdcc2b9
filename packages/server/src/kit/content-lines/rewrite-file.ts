import { type ContentFile, FILE_BYTES_MAX, type FileLine, FileRefused, splitFile } from './content-file.ts'
import { LineRefused, printLine, type WritableLine } from './print-line.ts'

/** A line of the file by its index, which keeps its bytes, or a new one. */
export type LineSource = number | WritableLine

/** A change of a file, line by line. A line without an entry keeps its place and bytes. */
export interface LineEdits {
  /** The lines that take the place of a line, by its index; none if it is removed. */
  replacing: ReadonlyMap<number, readonly LineSource[]>
  /** The lines that come before a line, by its index; before the number of lines: at the end of the file. */
  inserting: ReadonlyMap<number, readonly LineSource[]>
}

/** Replaces, adds and removes whole lines; every other byte stays. Checks and throws as `printFile` does. */
export function rewriteFile(file: ContentFile, edits: LineEdits): Buffer {
  const sources: LineSource[] = []
  for (let index = 0; index <= file.lines.length; index++) {
    sources.push(...(edits.inserting.get(index) ?? []))
    if (index < file.lines.length) sources.push(...(edits.replacing.get(index) ?? [index]))
  }
  return printFile(file, sources)
}

/**
 * Prints lines of a file and new ones. The result is read again, and must have these lines, and no others.
 * @param sources a line of the file may stand in several places
 * @throws LineRefused if a new line cannot be written
 * @throws FileRefused if the result exceeds a bound
 */
export function printFile(file: ContentFile, sources: readonly LineSource[]): Buffer {
  const ending = endingOf(file)
  const first = file.lines[0]?.start ?? file.bytes.length
  const pieces = [file.bytes.subarray(0, first)]
  let isOpen = false
  for (const source of sources) {
    if (isOpen) pieces.push(Buffer.from(ending))
    const line = typeof source === 'number' ? file.lines[source]! : null
    pieces.push(line ? file.bytes.subarray(line.start, line.end) : printLine(source as WritableLine, ending))
    isOpen = line?.ending === ''
  }
  const bytes = Buffer.concat(pieces)
  if (bytes.length > FILE_BYTES_MAX) throw new FileRefused(`${FILE_BYTES_MAX} bytes`)
  requireLines(bytes, file.lines, sources)
  return bytes
}

/** The line ending of the file, for new lines. */
function endingOf({ lines: [first] }: ContentFile): string {
  if (!first || first.ending === '') return '\r\n'
  if (!first.ending.endsWith('\n')) return '\r'
  return first.ending.length > 1 ? '\r\n' : '\n'
}

function requireLines(bytes: Buffer, before: readonly FileLine[], sources: readonly LineSource[]): void {
  const { lines } = splitFile(bytes)
  const isAsMeant =
    lines.length === sources.length &&
    sources.every((source, index) => {
      const { raw, content } = lines[index]!
      if (typeof source === 'number') return raw === before[source]!.raw
      return content?.rawName === source.rawName && isSame(content, source)
    })
  if (!isAsMeant) throw new LineRefused('The lines would not be read as they were meant')
}

function isSame(read: WritableLine, meant: WritableLine): boolean {
  // Control characters of parameters are not written.
  const valuesOf = ({ parameters }: WritableLine) =>
    JSON.stringify(
      parameters.map(({ name, values }) => [name, ...values.map(value => value.replaceAll(/\p{Cc}/gu, ''))]),
    )
  const withLineBreaks = (text: string) => text.replaceAll(/\r\n|\r/g, '\n')
  return withLineBreaks(read.value) === withLineBreaks(meant.value) && valuesOf(read) === valuesOf(meant)
}
