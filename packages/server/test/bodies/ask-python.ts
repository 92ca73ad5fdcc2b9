import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { requireProgram } from '../servers/install.ts'

export interface PythonPart {
  id: string
  type: string
  filename: string | null
  disposition: string | null
  contentId: string | null
  /** In base64; null for an embedded message. */
  content: string | null
  /** The decoded text, if Python can decode it. */
  text: string | null
}

/** A message as Python's email package reads it. */
export interface PythonMessage {
  parts: PythonPart[]
  /** False if Python cannot decode it. */
  subject: string | null | false
  from: Array<[name: string, address: string]> | null
  to: Array<[name: string, address: string]> | null
  cc: Array<[name: string, address: string]> | null
  bcc: Array<[name: string, address: string]> | null
  replyTo: Array<[name: string, address: string]> | null
  /** The fields of the header, in its order, decoded; false where Python cannot decode the value. */
  fields: Array<[name: string, value: string | false]>
  /** Seconds since the epoch. */
  date: number | null
}

/** Reads messages with a parser that shares no code with ours. */
export function askPython(messages: readonly Buffer[]): PythonMessage[] {
  const script = path.join(import.meta.dirname, 'second-parser.py')
  const input = messages.map(raw => `${raw.toString('base64')}\n`).join('')
  const { stdout, stderr } = spawnSync(requireProgram('python3'), [script], {
    input,
    maxBuffer: 2 ** 30,
    encoding: 'utf8',
  })
  if (stderr) throw new Error(stderr)
  return stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as PythonMessage)
}
