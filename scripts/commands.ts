/** `npm run commands` writes the help of the command line to docs/commands.md; `--check` only compares them. */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Command } from 'commander'
import { makeProgram } from '../packages/server/src/cli/main.ts'

const PAGE = path.resolve(import.meta.dirname, '../docs/commands.md')
const ABOUT = `# Commands

Every command of \`waxwing\` with its options, as \`npx waxwing COMMAND --help\` prints them. They work whether the service runs
or not, with the same [settings](configuration.md). [Running Waxwing](operations.md) describes when to use them.`
/** Wide enough that no text depends on the terminal. */
const COLUMNS = 110

const program = await makeProgram('')
const page = `${[ABOUT, ...program.commands.flatMap(command => sectionsOf(command, 'waxwing'))].join('\n\n')}\n`
if (!process.argv.includes('--check')) await writeFile(PAGE, page)
else if ((await readFile(PAGE, 'utf8').catch(() => '')) !== page) {
  console.error('docs/commands.md does not fit the commands. Run: npm run commands')
  process.exitCode = 1
}

/** The section of a command, and those of the commands below it. */
function sectionsOf(command: Command, parent: string): string[] {
  const name = `${parent} ${command.name()}`
  // The settings have a page of their own.
  const help = (name === 'waxwing serve' ? command.helpInformation() : helpOf(command)).trimEnd()
  return [
    `## ${name}\n\n\`\`\`text\n${help}\n\`\`\``,
    ...command.commands.flatMap(each => sectionsOf(each, name)),
  ]
}

/** The help with the texts that a command adds to it. */
function helpOf(command: Command): string {
  let printed = ''
  command.configureOutput({
    writeOut: text => void (printed += text),
    getOutHelpWidth: () => COLUMNS,
    getOutHasColors: () => false,
  })
  command.outputHelp()
  return printed
}
