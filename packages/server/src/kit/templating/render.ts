import { cleanLine } from '../mime/text.ts'
import type { Compiled, openTemplates } from './compile.ts'
import { asIs, type Escape, forHtml, forMarkdown } from './escapes.ts'
import { markdownToHtml } from './markdown.ts'
import { BoundExceeded, startMeter } from './meter.ts'
import { withPreview } from './preview.ts'
import {
  LINE_CHARACTERS_MAX,
  MARKDOWN_CHARACTERS_MAX,
  OUTPUT_BYTES_MAX,
  type Rendered,
  type RenderFailure,
  TEMPLATE_FIELDS,
  type TemplateField,
  type TemplateFields,
} from './template.ts'

type Templates = ReturnType<typeof openTemplates>

export type CompiledFields = Pick<TemplateFields, 'format'> & Partial<Record<TemplateField, Compiled>>

/**
 * Returns the first failure if a field does not compile.
 * @param begin is called with each field before it is compiled
 */
export function compileFields(
  templates: Templates,
  fields: TemplateFields,
  begin: (field: TemplateField) => void,
): CompiledFields | RenderFailure {
  const compiled: CompiledFields = { format: fields.format }
  for (const field of TEMPLATE_FIELDS) {
    begin(field)
    const source = fields[field]
    if (source === null) continue
    try {
      compiled[field] = templates.compile(source)
    } catch (error) {
      return { failure: 'invalid', field, message: messageOf(error) }
    }
  }
  return compiled
}

/** @param begin is called with each field before it is rendered */
export function renderTemplate(
  fields: CompiledFields,
  variables: object,
  begin: (field: TemplateField) => void,
): Rendered | RenderFailure {
  let field: TemplateField = 'subject'
  const meter = startMeter()
  const render = (of: TemplateField, escape: Escape) => {
    begin((field = of))
    return fields[of]?.render(variables, escape, meter).toWellFormed() ?? null
  }
  try {
    const subject = toLine(render('subject', asIs))
    const previewText = toLine(render('previewText', forHtml))
    const ownText = toOutput(render('text', asIs))
    const isMarkdown = fields.format === 'markdown'
    const markdown = isMarkdown ? render('html', asIs) : null
    const text = ownText ?? toOutput(markdown)
    if (longerThan(markdown ?? '', MARKDOWN_CHARACTERS_MAX))
      throw new BoundExceeded(`renders more than ${MARKDOWN_CHARACTERS_MAX} characters of Markdown`)
    const written = isMarkdown ? meter.again(() => render('html', forMarkdown)) : render('html', forHtml)
    const content = isMarkdown && written !== null ? markdownToHtml(written) : written
    const html = toOutput(content !== null && previewText ? withPreview(content, previewText) : content)
    return { subject, html, text, previewText }
  } catch (error) {
    return { failure: 'bound', field, message: messageOf(error) }
  }
}

function toLine(value: string | null): string | null {
  if (value === null) return null
  const line = cleanLine(value, Number.POSITIVE_INFINITY)
  if (longerThan(line, LINE_CHARACTERS_MAX))
    throw new BoundExceeded(`renders more than ${LINE_CHARACTERS_MAX} characters`)
  return line
}

function toOutput(value: string | null): string | null {
  if (value !== null && Buffer.byteLength(value) > OUTPUT_BYTES_MAX)
    throw new BoundExceeded('renders more than 2 MiB')
  return value
}

/** In code points. */
function longerThan(value: string, max: number): boolean {
  if (value.length <= max) return false
  if (value.length > 2 * max) return true
  let count = 0
  for (const _ of value) count++
  return count > max
}

const MESSAGE_LENGTH_MAX = 300

/** The parser draws a pointer under the place, on lines of its own. */
function messageOf(error: unknown): string {
  return cleanLine(error instanceof Error ? error.message : '', MESSAGE_LENGTH_MAX)
}
