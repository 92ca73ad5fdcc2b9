// On runtimes with files: reads what to try from the file of the first argument, and prints what came of it.
import { readFileSync } from 'node:fs'
import { attachmentFromFile } from '@waxwing/sdk/node'
import { tryClient } from './program.mjs'

const [file] = process.argv.slice(-1)
const outcome = await tryClient(JSON.parse(readFileSync(file, 'utf8')))
const attached = await attachmentFromFile(import.meta.filename ?? new URL(import.meta.url).pathname)
process.stdout.write(JSON.stringify({ ...outcome, attached: attached.filename }))
