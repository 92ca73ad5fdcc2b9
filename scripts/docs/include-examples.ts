import { existsSync, readFileSync } from 'node:fs'
import { escape } from './escape.ts'
import { highlight } from './highlight.ts'

/** A paragraph of its own that shows an example of `docs/examples/`, such as `@include first-mailbox/connect`. */
const INCLUDE = /^@include ([\w-]+\/[\w-]+)$/

/** The languages of examples, by the ends of their files. */
const LANGUAGES = [
  { suffix: '.sh', name: 'curl', label: 'curl', language: 'bash' },
  { suffix: '.ts', name: 'node', label: 'TypeScript', language: 'typescript' },
  { suffix: '.py', name: 'python', label: 'Python', language: 'python' },
]

interface Source {
  name: string
  label: string
  language: string
  code: string
}

interface Example {
  sources: Source[]
  /** The output of its programs; null if there is no file with it. */
  output: string | null
}

/** The example that a paragraph includes; null for other paragraphs. Throws if it has no file. */
export function findExample(paragraph: string, folder: URL): Example | null {
  const [, name] = INCLUDE.exec(paragraph.trim()) ?? []
  if (name === undefined) return null
  const read = (suffix: string) => {
    const file = new URL(name + suffix, folder)
    return existsSync(file) ? readFileSync(file, 'utf8').trimEnd() : null
  }
  const sources = LANGUAGES.flatMap(({ suffix, ...language }) => {
    const code = read(suffix)
    return code === null ? [] : [{ ...language, code }]
  })
  if (sources.length === 0) throw new Error(`There is no example docs/examples/${name}`)
  return { sources, output: read('.out') }
}

/** An example as blocks of code, one for each language, which the script shows one at a time. */
export function renderExample({ sources, output }: Example): string {
  const blocks = sources.map(
    ({ name, label, language, code }) =>
      `<div class="variant" data-language-of="${name}"><p class="label">${label}</p>${block(code, language)}</div>`,
  )
  const printed = output === null ? '' : `<p class="label">It prints</p>${block(output, '')}`
  return `<div class="example">${blocks.join('')}${printed}</div>\n`
}

/** Replaces each line that includes an example by its blocks of code. */
export function includeExamples(markdown: string, folder: URL): string {
  return markdown
    .split('\n')
    .map(line => {
      const example = findExample(line, folder)
      if (example === null) return line
      const blocks = example.sources.map(({ language, code }) => `\`\`\`${language}\n${code}\n\`\`\``)
      if (example.output !== null) blocks.push(`It prints:\n\n\`\`\`\n${example.output}\n\`\`\``)
      return blocks.join('\n\n')
    })
    .join('\n')
}

function block(code: string, language: string): string {
  return `<pre tabindex="0" data-language="${escape(language)}"><code>${highlight(code, language)}</code></pre>`
}
