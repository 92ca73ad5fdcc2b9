import type { Random } from '../seeded.ts'
import { pickLanguage, pickPerson, type Person } from './fields.ts'
import type { Language } from './languages.ts'

export interface Conversation {
  language: Language
  subject: string
  owner: Person
  partner: Person
  /** All messages of the conversation with their references. Some of them never arrive. */
  turns: Array<{ id: string; references: string[] }>
  seed: string
  number: number
}

export interface Turn {
  conversation: Conversation
  kind: string
  from: Person
  id: string
  subject: string
  /** The fields that refer to other messages. */
  fields: string[]
  /** The references in those fields. */
  references: string[]
}

const REFERENCES_MAX = 20

export function startConversation(random: Random, seed: string, owner: Person): Conversation {
  const language = pickLanguage(random)
  const partner = pickPerson(random, language)
  const number = random.between(1, 1e9)
  return { language, subject: random.pick(language.subjects), owner, partner, turns: [], seed, number }
}

/** The next message of a conversation: its first, or a reply to any earlier one. */
export function replyTo(random: Random, conversation: Conversation): Turn {
  const { turns } = conversation
  // A message that this user never gets, though others answer it.
  const isParentMissing = random.chance(0.06)
  if (isParentMissing) addTurn(conversation, turns.at(-1))
  const parent = turns.length === 0 ? undefined : random.chance(0.7) ? turns.at(-1) : random.pick(turns)
  // Occasionally a program uses an id twice.
  const isRepeated = turns.length > 0 && random.chance(0.01)
  const turn = isRepeated ? random.pick(turns) : addTurn(conversation, parent)
  const style = random.between(0, 9)
  const inReplyTo = parent && style !== 0 && parent !== turn ? [parent.id] : []
  const list = parent && style !== 1 && parent !== turn ? turn.references : []
  return {
    conversation,
    kind: isRepeated ? 'repeated id' : isParentMissing ? 'missing parent' : parent ? 'reply' : 'first',
    from: turns.length % 3 === 2 ? conversation.owner : conversation.partner,
    id: turn.id,
    subject: parent
      ? `${random.pick(['Re: ', 'AW: ', 'RE: '])}${conversation.subject}`
      : conversation.subject,
    fields: [
      ...(list.length > 0 ? [`References: ${list.join('\r\n ')}`] : []),
      ...(inReplyTo.length > 0 ? [`In-Reply-To: ${inReplyTo.join(' ')}`] : []),
    ],
    references: [...new Set(list.length > 0 ? list : inReplyTo)].filter(id => id !== turn.id),
  }
}

function addTurn({ turns, number, seed }: Conversation, parent?: { id: string; references: string[] }) {
  const all = parent ? [...parent.references, parent.id] : []
  const references =
    all.length > REFERENCES_MAX ? [...all.slice(0, 1), ...all.slice(1 - REFERENCES_MAX)] : all
  const turn = { id: `<${number}.${turns.length}.${seed}@example.com>`, references }
  turns.push(turn)
  return turn
}
