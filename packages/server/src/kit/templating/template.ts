/** The parts of a template that are Handlebars. */
export const TEMPLATE_FIELDS = ['subject', 'html', 'text', 'previewText'] as const
export type TemplateField = (typeof TEMPLATE_FIELDS)[number]

/** A template. With the format `markdown`, `html` has Markdown. */
export interface TemplateFields extends Record<TemplateField, string | null> {
  format: 'html' | 'markdown'
}

export type Rendered = Record<TemplateField, string | null>

/** `invalid`: the field does not compile; `bound`: rendering it exceeds a bound. */
export interface RenderFailure {
  failure: 'invalid' | 'bound'
  field: TemplateField
  /** Description of the mistake in the field, for people. */
  message: string
}

/** Code points of a rendered `subject` or `previewText`. */
export const LINE_CHARACTERS_MAX = 2000
/** Bytes of rendered `html` or `text` in UTF-8. */
export const OUTPUT_BYTES_MAX = 2 * 1024 * 1024
/** Maximum number of times that bodies of loops run in one render, in all fields together. */
export const ITERATIONS_MAX = 10_000
/** Blocks and subexpressions within one another. */
export const LEVELS_MAX = 50
/** Code points of rendered Markdown that are converted to HTML. */
export const MARKDOWN_CHARACTERS_MAX = 100_000
/** Processor time of one render. */
export const RENDER_MS_MAX = 1000
