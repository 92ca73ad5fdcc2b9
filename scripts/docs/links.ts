import path from 'node:path'

/** Targets on the service for links to other files of the repository, from the folder of the pages. */
const OTHER_FILES: Readonly<Record<string, string>> = {
  '../packages/contract/openapi.json': '/v1/openapi.json',
}

/** The address of a page by its name below `docs/`, without `.md`. */
export function pathOf(name: string): string {
  return name.startsWith('jobs/') ? `/docs/${name}` : `/docs/guides/${name}`
}

/** Finds what the links of one page lead to. */
export class Links {
  readonly #folder: string
  readonly #names: ReadonlySet<string>

  /** @param page The page, by its name. @param names All pages that the site shows. */
  constructor(page: string, names: ReadonlySet<string>) {
    this.#folder = path.posix.dirname(page)
    this.#names = names
  }

  /** The target on the service, or null if the service does not show the file. */
  targetOf(href: string, suffix = ''): string | null {
    if (/^(?:https:\/\/|#)/.test(href)) return href
    if (/^\/(?:docs|v1)\b/.test(href)) return href
    const [file = '', hash = ''] = href.split(/(?=#)/)
    const named = this.nameOf(file)
    if (named.endsWith('.md') && this.#names.has(named.slice(0, -'.md'.length)))
      return `${pathOf(named.slice(0, -'.md'.length))}${suffix}${hash}`
    return OTHER_FILES[named] ?? null
  }

  /** The name of a file below `docs/`, from a link. */
  nameOf(href: string): string {
    return path.posix.normalize(path.posix.join(this.#folder, href))
  }

  /** Markdown whose links lead to the Markdown of other pages, at their addresses. */
  rewrite(markdown: string): string {
    const blocks = markdown.split(/^(```[^]*?^```)$/m)
    return blocks
      .map((text, index) =>
        index % 2 === 1
          ? text
          : text.replaceAll(/\]\(([^)\s]+)\)/g, (whole, href: string) => {
              const target = this.targetOf(href, '.md')
              return target === null ? whole : `](${target})`
            }),
      )
      .join('')
  }
}
