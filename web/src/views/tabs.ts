// A row of tabs according to the ARIA pattern: one tab is in the tab order, arrow keys move through the row, and the panel of
// the chosen tab is shown. Each tab names its panel in aria-controls.

export class Tabs {
  private readonly tabs: HTMLElement[];

  constructor(
    list: HTMLElement,
    private readonly onSelect: (panel: string) => void = () => {},
  ) {
    this.tabs = [...list.querySelectorAll<HTMLElement>('[role=tab]')];
    this.tabs.forEach((tab, i) => {
      tab.addEventListener('click', () => this.choose(tab));
      tab.addEventListener('keydown', (event) => this.key(event, i));
    });
  }

  /** Shows a panel without a notification. */
  show(panel: string): void {
    for (const tab of this.tabs) {
      const chosen = tab.getAttribute('aria-controls') === panel;
      tab.setAttribute('aria-selected', String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      const shown = document.getElementById(tab.getAttribute('aria-controls') ?? '');
      if (shown !== null) shown.hidden = !chosen;
    }
  }

  private choose(tab: HTMLElement): void {
    const panel = tab.getAttribute('aria-controls') ?? '';
    this.show(panel);
    this.onSelect(panel);
  }

  private key(event: KeyboardEvent, i: number): void {
    const last = this.tabs.length - 1;
    const to = { ArrowRight: i === last ? 0 : i + 1, ArrowLeft: i === 0 ? last : i - 1, Home: 0, End: last }[
      event.key
    ];
    if (to === undefined) return;
    event.preventDefault();
    this.tabs[to].focus();
    this.choose(this.tabs[to]);
  }
}
