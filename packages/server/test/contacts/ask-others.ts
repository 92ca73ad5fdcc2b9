import { spawnSync } from 'node:child_process'
import path from 'node:path'
import ICAL from 'ical.js'
import { requireVobject } from '../servers/install.ts'

/** A property of a card, as a program reads it that shares no code with ours. */
export interface OtherProperty {
  group: string | null
  name: string
  /** Each with its name first, in upper case. */
  parameters: string[][]
  values: string[]
}

/** Reads cards of version 3 with vobject. A text in place of properties is its error. */
export function askVobject(cards: readonly Buffer[]): Array<OtherProperty[] | string> {
  const script = path.join(import.meta.dirname, 'read-cards.py')
  const input = cards.map(card => `${card.toString('base64')}\n`).join('')
  const { stdout, stderr } = spawnSync(requireVobject(), [script], {
    input,
    maxBuffer: 2 ** 30,
    encoding: 'utf8',
    env: { ...process.env, PYTHONIOENCODING: 'utf-8' },
  })
  if (stderr) throw new Error(stderr)
  return stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as OtherProperty[] | string)
}

/** jCard (RFC 7095), as far as it is read here. */
type JsonProperty = [
  name: string,
  parameters: Record<string, string | string[]>,
  type: string,
  ...values: unknown[],
]

/** Reads a card of version 4 with ical.js, which takes no folds within characters. Throws if it cannot. */
export function askIcal(card: Buffer): OtherProperty[] {
  const unfolded = card.toString('latin1').replaceAll(/\r?\n[ \t]/g, '')
  const [name, properties] = ICAL.parse(Buffer.from(unfolded, 'latin1').toString()) as [
    string,
    JsonProperty[],
  ]
  if (name !== 'vcard') throw new Error('It is not one card')
  return properties.map(([property, { group, ...parameters }, , ...values]) => ({
    group: typeof group === 'string' ? group : null,
    name: property.toUpperCase(),
    parameters: Object.entries(parameters).map(([key, value]) => [key.toUpperCase(), value].flat()),
    values: values.flat().map(value => (Array.isArray(value) ? value.join(' ') : String(value))),
  }))
}
