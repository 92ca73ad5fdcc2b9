/** A page of the site, before it is laid out. */
export interface Page {
  /** Its address on the service, such as `/docs/guides/errors`. */
  path: string
  title: string
  /** The first words of the page, for lists of pages. */
  description: string
  /** The name of its section in the table of contents. */
  section: string
  /** The page as Markdown, with the addresses of the site. */
  markdown: string
  /** Its content as HTML. */
  content: string
  /** The headings that the navigation lists below the page. */
  headings: Heading[]
  /** Places on the page that the search finds. */
  entries: SearchEntry[]
  /** Whether requests can be sent from the page. */
  hasForms?: boolean
  /** Files that the page shows, by their address. */
  images?: ReadonlyMap<string, string>
}

export interface Heading {
  id: string
  text: string
}

/** A place on a page that the search leads to. */
export interface SearchEntry {
  /** The id of its element; empty for the page itself. */
  anchor: string
  title: string
  /** Names that lead there if a user types them exactly, such as a reason or a setting. */
  names?: string
  text: string
  kind: 'page' | 'operation' | 'schema' | 'reason' | 'event' | 'setting' | 'command'
}
