import { parentPort } from 'node:worker_threads'
import { bodyVector } from '../search-text/document.ts'
import { searchedText } from './body-text.ts'
import { readContentFacts } from './content-facts.ts'
import { type MessageParser, openMessageParser } from './message-parser.ts'
import type { ReaderAnswer, ReaderRequest } from './message-reader.ts'
import { readOutline } from './outline.ts'

/* The thread of message-reader.ts. Messages come in pieces, several at once, each under its number. */

const parsers = new Map<number, MessageParser>()

function answer(request: ReaderRequest): ReaderAnswer {
  const { id, bytes } = request
  if (request.type === 'drop') {
    parsers.delete(id)
    return { id, result: null }
  }
  if (request.type === 'outline')
    return { id, result: readOutline(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)) }
  const parser = parsers.get(id) ?? openMessageParser()
  parsers.set(id, parser)
  parser.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
  if (request.type === 'more') return { id, result: null }
  parsers.delete(id)
  const message = parser.end()
  const facts = readContentFacts(message)
  return {
    id,
    result:
      request.type === 'words' ? { words: bodyVector(searchedText(message)), facts } : { ...message, facts },
  }
}

parentPort?.on('message', (request: ReaderRequest) => parentPort?.postMessage(answer(request), []))
